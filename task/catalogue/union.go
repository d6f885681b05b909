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

// Union lists the catalogues of a directory, each a table in a directory of its own.
type Union struct {
	Schema int `json:"schema"`
	// Tokenizer identifies the tokenizer that all share; empty if each has its own.
	Tokenizer  string   `json:"tokenizer,omitempty"`
	Catalogues []string `json:"catalogues"` // directories below this one
}

// Save writes the list to dir. It is written last: a union without it is unfinished.
func (u Union) Save(dir string) error {
	u.Schema = kind.Schema
	text, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot store the list of catalogues: %w", err)
	}
	return writeFile(filepath.Join(dir, UnionFile), append(text, '\n'))
}

// LoadUnion reads the list of dir. The error is fs.ErrNotExist if there is none.
func LoadUnion(dir string) (Union, error) {
	path := filepath.Join(dir, UnionFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return Union{}, fmt.Errorf("%s holds no finished union of catalogues: %w", dir, err)
	}
	var u Union
	if err := json.Unmarshal(content, &u); err != nil || u.Schema < 1 || len(u.Catalogues) == 0 ||
		slices.ContainsFunc(u.Catalogues, improperName) {
		return Union{}, fmt.Errorf("%s is damaged; copy the directory again or build the IDs anew", path)
	}
	if u.Schema > kind.Schema {
		return Union{}, fmt.Errorf("%s has schema %d and this gritvq reads up to %d: upgrade gritvq", path, u.Schema, kind.Schema)
	}
	return u, nil
}

// improperName says that a name cannot be that of a directory right below.
func improperName(name string) bool {
	return name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\:`)
}

// checkNames refuses names of catalogues that cannot be directories side by side.
func checkNames(names []string) error {
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

// unionError says that a directory without a table is a union.
type unionError struct {
	dir   string
	names []string
}

func (e unionError) Error() string {
	return fmt.Sprintf("%s holds the tables of %s; name one of them, such as %s",
		e.dir, strings.Join(e.names, ", "), filepath.Join(e.dir, e.names[0]))
}

func (e unionError) Is(target error) bool { return target == fs.ErrNotExist }

// inUnion explains the absence of a table in a directory that holds a union.
func inUnion(dir string, err error) error {
	if u, notUnion := LoadUnion(dir); notUnion == nil && errors.Is(err, fs.ErrNotExist) {
		return unionError{dir, u.Catalogues}
	}
	return err
}
