package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UnionFile lists the tables of a directory that holds several, each in a
// directory of its own.
const UnionFile = "union.json"

// Union is a directory of several catalogues.
type Union struct {
	Schema int `json:"schema"`
	// Tokenizer is the fingerprint of the one that all share; empty where each
	// has its own.
	Tokenizer  string   `json:"tokenizer,omitempty"`
	Catalogues []string `json:"catalogues"` // directories below this one
}

// Save writes the list to dir. It comes last: without it the union is not
// finished.
func (u Union) Save(dir string) error {
	u.Schema = Schema
	text, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot store the list of catalogues: %w", err)
	}
	return write(filepath.Join(dir, UnionFile), append(text, '\n'))
}

// LoadUnion reads the list of dir. The error is fs.ErrNotExist where there is
// none.
func LoadUnion(dir string) (Union, error) {
	path := filepath.Join(dir, UnionFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return Union{}, fmt.Errorf("%s holds no finished union of catalogues: %w", dir, err)
	}
	var u Union
	if err := json.Unmarshal(content, &u); err != nil || u.Schema < 1 || len(u.Catalogues) == 0 || slices.ContainsFunc(u.Catalogues, improperName) {
		return Union{}, fmt.Errorf("%s is damaged; copy the directory again or build the IDs anew", path)
	}
	if u.Schema > Schema {
		return Union{}, fmt.Errorf("%s has schema %d and this gritvq reads up to %d: upgrade gritvq", path, u.Schema, Schema)
	}
	return u, nil
}

// improperName says that a catalogue's name cannot be that of a directory right
// below.
func improperName(name string) bool {
	return name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\:`)
}

// CheckNames refuses names of catalogues that cannot stand side by side as
// directories.
func CheckNames(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		folded := strings.ToLower(name) // some file systems see no difference
		if improperName(name) {
			return fmt.Errorf("%q cannot be the name of a catalogue: it becomes a directory", name)
		}
		if seen[folded] {
			return fmt.Errorf("two catalogues are called %q", name)
		}
		seen[folded] = true
	}
	return nil
}

// errAbsent is fs.ErrNotExist without words: the sentence around it says what is
// not there.
type errAbsent struct{}

func (errAbsent) Error() string        { return "" }
func (errAbsent) Is(target error) bool { return target == fs.ErrNotExist }

// noTable explains that dir has no manifest: it may be a union.
func noTable(dir string) error {
	if u, err := LoadUnion(dir); err == nil {
		return fmt.Errorf("%s holds the tables of %s; name one of them, such as %s%w", dir, strings.Join(u.Catalogues, ", "), filepath.Join(dir, u.Catalogues[0]), errAbsent{})
	}
	return fmt.Errorf("%s is no table of IDs: it has no %s; check the path%w", dir, ManifestFile, errAbsent{})
}

// Clear removes a table, and the list of a union, from dir. Tables below stay.
func Clear(dir string) error {
	for _, name := range []string{ManifestFile, UnionFile, ParquetFile, JSONLFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the old IDs: %w", err)
		}
	}
	return nil
}
