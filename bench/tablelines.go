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
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// tableRun is one line of a file of runs: something that was trained and scored,
// or why that failed.
type tableRun interface {
	identity() string // its first letter names the table it was made for
	method() string   // the row that it belongs to
	failure() string  // empty: it did not fail
	took() float64    // seconds
	check() error     // what the line lacks
}

// tableLetter is the letter of the table that a run was made for, "none" where
// the identifier has no letter.
func tableLetter(identity string) string {
	if letter, _, found := strings.Cut(identity, "-"); found && len(letter) == 1 {
		return letter
	}
	return "none"
}

// flagOf reads a number among flags.
func flagOf(flags, name string, otherwise int) int {
	fields := strings.Fields(flags)
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

// withoutFlags are the flags without those of some names.
func withoutFlags(flags string, names ...string) string {
	var kept []string
	fields := strings.Fields(flags)
	for i := 0; i < len(fields); i++ {
		name, _, joined := strings.Cut(fields[i], "=")
		if slices.Contains(names, name) {
			if !joined {
				i++
			}
			continue
		}
		kept = append(kept, fields[i])
	}
	return strings.Join(kept, " ")
}

// readLines reads values, a line of JSON each; blank lines are skipped.
func readLines[R interface{ check() error }](name string, from io.Reader) ([]R, error) {
	var all []R
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<26)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var r R
		err := json.Unmarshal(line, &r)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return all, nil
}

// readRunFiles reads files in order; one that is not there is an error unless it
// is the store, which the first run makes.
func readRunFiles[R tableRun](store string, files []string) ([]R, error) {
	var all []R
	for _, name := range append([]string{store}, files...) {
		file, err := os.Open(name)
		if name == store && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs, err := readLines[R](name, file)
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
func latest[R tableRun](runs []R) []R {
	kept := map[string]R{}
	for _, r := range runs {
		if before, seen := kept[r.identity()]; !seen || r.failure() == "" || before.failure() != "" {
			kept[r.identity()] = r
		}
	}
	var list []R
	for _, r := range kept {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b R) int { return cmp.Compare(a.identity(), b.identity()) })
	return list
}

// storeLines writes values, a line of JSON each.
func storeLines[R any](path string, values []R) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for _, v := range values {
			if err := encoder.Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}
