package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Run is one line of a file of runs: the scores of a trained model, or a failure.
type Run interface {
	About() About
	Record() Record // without a setting
	Check() error   // reports missing fields
}

// About describes a run.
type About struct {
	ID      string // its first letter names the table it was made for
	Method  string // its row
	Cell    string // its place in the tables, and the seed
	Command string // that trained it, without the flags that a table varies
	Seconds float64
	Failed  string // why; empty: it succeeded
}

// Made says whether the run succeeded and was made for one of the tables.
func (a About) Made(letters string) bool {
	letter, _, found := strings.Cut(a.ID, "-")
	return a.Failed == "" && found && len(letter) == 1 && strings.Contains(letters, letter)
}

// Runs are the runs of a page. It notes which of them the page shows.
type Runs[R Run] struct {
	All   []R // by identifier
	shown map[string]bool
}

// NewRuns keeps one run of every identifier: the last that succeeded, or else the last.
func NewRuns[R Run](all []R) *Runs[R] {
	kept := map[string]R{}
	for _, r := range all {
		a := r.About()
		if before, seen := kept[a.ID]; !seen || a.Failed == "" || before.About().Failed != "" {
			kept[a.ID] = r
		}
	}
	runs := &Runs[R]{shown: map[string]bool{}}
	for _, r := range kept {
		runs.All = append(runs.All, r)
	}
	slices.SortFunc(runs.All, func(a, b R) int { return cmp.Compare(a.About().ID, b.About().ID) })
	return runs
}

func readRuns[R Run](store string, files []string) (*Runs[R], error) {
	all, err := ReadLines[R](store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range files {
		more, err := ReadLines[R](name)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return NewRuns(all), nil
}

// Select returns the successful runs for some tables that keep accepts, one of every cell and seed. The page
// shows them.
func (r *Runs[R]) Select(letters string, keep func(R) bool) []R {
	var chosen []R
	taken := map[string]bool{}
	for _, run := range r.All {
		if a := run.About(); a.Made(letters) && keep(run) && !taken[a.Cell] {
			chosen = append(chosen, run)
			taken[a.Cell], r.shown[a.ID] = true, true
		}
	}
	return chosen
}

// distinct refuses two runs of one cell and seed with different settings: a table could show only one of them.
func (r *Runs[R]) distinct(letters string) error {
	seen := map[string]About{}
	for _, run := range r.All {
		a := run.About()
		if !a.Made(letters) {
			continue
		}
		if other, twice := seen[a.Cell]; twice && other.Command != a.Command {
			return fmt.Errorf("%s and %s are %s with the same data, size and seed but different settings; "+
				"let the identifier of one begin with a letter of no table", other.ID, a.ID, a.Method)
		}
		seen[a.Cell] = a
	}
	return nil
}

func (r *Runs[R]) unused() []string {
	var names []string
	for _, run := range r.All {
		if a := run.About(); a.Failed == "" && !r.shown[a.ID] {
			names = append(names, a.ID)
		}
	}
	return names
}

// Failures adds the list of failed runs to a page.
func (r *Runs[R]) Failures(p *Page) {
	heading := "## Runs that failed\n\n"
	for _, run := range r.All {
		if a := run.About(); a.Failed != "" {
			p.Text("%s* %s after %s: %s", heading, a.ID, Seconds(a.Seconds), a.Failed)
			heading = ""
		}
	}
}

// Groups collects the records of runs; setting, if not nil, tells groups of one method apart.
func Groups[R Run](runs []R, setting func(R) string) []Group {
	var records []Record
	for _, run := range runs {
		r := run.Record()
		if setting != nil {
			r.Setting = setting(run)
		}
		records = append(records, r)
	}
	return Collect(records)
}

// ReadLines reads a file of values, a line of JSON each; blank lines are skipped.
func ReadLines[T interface{ Check() error }](name string) ([]T, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return DecodeLines[T](name, file)
}

// DecodeLines is [ReadLines] of an open file with a name.
func DecodeLines[T interface{ Check() error }](name string, from io.Reader) ([]T, error) {
	var all []T
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<26)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var value T
		err := json.Unmarshal(line, &value)
		if err == nil {
			err = value.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		all = append(all, value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return all, nil
}

// Flag reads a number among the flags of a command; the last one counts.
func Flag(flags, name string, otherwise int) int {
	for _, m := range regexp.MustCompile(`(?:^|\s)`+name+`[=\s]\s*(\d+)\b`).FindAllStringSubmatch(flags, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			otherwise = n
		}
	}
	return otherwise
}

// WithoutFlags removes flags and their values.
func WithoutFlags(flags string, names ...string) string {
	for _, name := range names {
		flags = regexp.MustCompile(`(^|\s)`+name+`([=\s]\s*\S+|$)`).ReplaceAllString(flags, " ")
	}
	return strings.Join(strings.Fields(flags), " ")
}
