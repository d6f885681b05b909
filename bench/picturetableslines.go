package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/task/recon"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureRun is one line of a file of picture runs: a tokenizer that was trained
// and scored, or why that failed.
type pictureRun struct {
	ID      string       `json:"id"` // its first letter names the table it was made for
	Data    string       `json:"data,omitempty"`
	Method  string       `json:"method,omitempty"`
	Seed    uint64       `json:"seed,omitempty"`
	Flags   string       `json:"flags,omitempty"` // of gritvq train, beside those above
	Seconds float64      `json:"seconds"`
	Train   trained      `json:"train,omitzero"`  // what train --json printed
	Scores  recon.Scores `json:"scores,omitzero"` // what eval --json printed
	Course  [][]*float64 `json:"course,omitempty"`
	Failed  string       `json:"failed,omitempty"`
}

// The columns of a course.
const (
	courseStep = iota
	courseUse
	courseDead
	coursePerplexity
	coursePSNR
	courseColumns
)

// trained is what the tables need of train --json.
type trained struct {
	Steps   int                     `json:"steps"`
	Seconds float64                 `json:"seconds"`
	Train   tokenizer.PictureScores `json:"train"` // on training pictures
}

// table is the letter of the table that the run was made for, "none" where the
// identifier has no letter.
func (r pictureRun) table() string {
	if letter, _, found := strings.Cut(r.ID, "-"); found && len(letter) == 1 {
		return letter
	}
	return "none"
}

// cell names what a table shows in one place, and the seed.
func (r pictureRun) cell() string {
	return fmt.Sprint(r.Data, " ", r.Method, " ", r.codes(), " ", r.levels(), " ", r.Seed)
}

// flag reads a number among the flags.
func (r pictureRun) flag(name string, otherwise int) int {
	fields := strings.Fields(r.Flags)
	for i, field := range fields {
		value, joined := strings.CutPrefix(field, name+"=")
		if field == name && i+1 < len(fields) {
			value, joined = fields[i+1], true
		}
		if n, err := strconv.Atoi(value); joined && err == nil {
			otherwise = n // the last one counts
		}
	}
	return otherwise
}

func (r pictureRun) codes() int  { return r.flag("--codes", 16384) }
func (r pictureRun) levels() int { return r.flag("--levels", 1) }

// settings are the flags without those that a table varies.
func (r pictureRun) settings() string {
	var kept []string
	fields := strings.Fields(r.Flags)
	for i := 0; i < len(fields); i++ {
		name, _, joined := strings.Cut(fields[i], "=")
		if name == "--codes" || name == "--levels" {
			if !joined {
				i++
			}
			continue
		}
		kept = append(kept, fields[i])
	}
	return strings.Join(kept, " ")
}

// scored returns a score of the held-out pictures, NaN where eval did not run.
func (r pictureRun) scored(of func(recon.Scores) float64) float64 {
	if r.Scores.Images == 0 {
		return math.NaN()
	}
	return of(r.Scores)
}

// onTraining returns a score of the training pictures, NaN where there is none.
func (r pictureRun) onTraining(of func(tokenizer.PictureScores) float64) float64 {
	if r.Train.Train.Images == 0 {
		return math.NaN()
	}
	return of(r.Train.Train)
}

// readRuns reads lines of runs; blank ones are skipped.
func readRuns(name string, from io.Reader) ([]pictureRun, error) {
	var runs []pictureRun
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<26)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var r pictureRun
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		if r.ID == "" || r.Failed == "" && (r.Method == "" || r.Data == "") {
			return nil, fmt.Errorf("%s, line %d: a run needs an id, and data and method unless it failed", name, n)
		}
		for _, moment := range r.Course {
			if len(moment) != courseColumns || moment[courseStep] == nil {
				return nil, fmt.Errorf("%s, line %d: a moment of the course needs step, utilization, dead rate, perplexity and PSNR", name, n)
			}
		}
		runs = append(runs, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return runs, nil
}

// readRunFiles reads files in order; one that is not there is an error unless it
// is the store, which the first run makes.
func readRunFiles(store string, files []string) ([]pictureRun, error) {
	var all []pictureRun
	for _, name := range append([]string{store}, files...) {
		file, err := os.Open(name)
		if name == store && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs, err := readRuns(name, file)
		file.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, runs...)
	}
	return latest(all), nil
}

// latest keeps one run of every identifier, in the order of identifiers: the
// last that succeeded, or else the last.
func latest(runs []pictureRun) []pictureRun {
	kept := map[string]pictureRun{}
	for _, r := range runs {
		if before, seen := kept[r.ID]; !seen || r.Failed == "" || before.Failed != "" {
			kept[r.ID] = r
		}
	}
	var list []pictureRun
	for _, r := range kept {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b pictureRun) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// storeRuns writes the runs, a line each.
func storeRuns(path string, runs []pictureRun) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for _, r := range runs {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return nil
	})
}
