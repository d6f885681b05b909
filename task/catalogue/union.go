package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Union lists the catalogues of a directory, each a table in a directory of its own.
type Union struct {
	Schema     int      `json:"schema"`
	Tokenizer  string   `json:"tokenizer,omitempty"` // of all; empty if each has its own
	Catalogues []string `json:"catalogues"`          // directories below this one
}

// Save writes the list to dir. A union without it is unfinished.
func (u Union) Save(dir string) error {
	u.Schema = kind.Schema
	if err := seal.WriteFile(filepath.Join(dir, UnionFile), u); err != nil {
		return fmt.Errorf("cannot store the list of catalogues: %w", err)
	}
	return nil
}

// LoadUnion reads the list of dir. The error is fs.ErrNotExist if there is none.
func LoadUnion(dir string) (Union, error) {
	path := filepath.Join(dir, UnionFile)
	content, err := memory.ReadFile(path)
	if err != nil {
		return Union{}, fmt.Errorf("%s holds no finished union of catalogues: %w", dir, err)
	}
	var u Union
	err = json.Unmarshal(content, &u)
	switch {
	case err == nil && u.Schema > kind.Schema:
		err = fmt.Errorf("%s has schema %d and this gritvq reads up to %d: upgrade gritvq", path, u.Schema, kind.Schema)
	case err != nil || u.Schema < 1 || len(u.Catalogues) == 0 || checkNames(u.Catalogues) != nil:
		err = kind.Damaged(path, errors.New("it is no list of catalogues"))
	default:
		if damage := seal.Verify(content, &u); damage != nil {
			err = kind.Damaged(path, damage)
		}
	}
	return u, err
}

func checkNames(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		folded := strings.ToLower(name) // some file systems see no difference
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\:`) {
			return fmt.Errorf("%q cannot be the name of a catalogue: it becomes a directory", name)
		}
		if seen[folded] {
			return fmt.Errorf("two catalogues are called %q", name)
		}
		seen[folded] = true
	}
	return nil
}

// unionError is fs.ErrNotExist for a directory that holds a union, not a table.
type unionError string

func (e unionError) Error() string { return string(e) }

func (unionError) Is(target error) bool { return target == fs.ErrNotExist }

func explainUnion(dir string, err error) error {
	if u, notUnion := LoadUnion(dir); notUnion == nil && errors.Is(err, fs.ErrNotExist) {
		return unionError(fmt.Sprintf("%s holds the tables of %s; name one of them, such as %s",
			dir, strings.Join(u.Catalogues, ", "), filepath.Join(dir, u.Catalogues[0])))
	}
	return err
}

func (m *maker) finishUnion(r *Result, shared itemEncoder) error {
	var u Union
	var training []vqtrain.Record
	if shared != nil {
		u.Tokenizer, training = shared.origin().identity, shared.origin().training
	}
	for _, s := range m.list {
		u.Catalogues = append(u.Catalogues, s.Name)
	}
	if shared != nil || m.Random { // codes of different tokenizers cannot be compared
		whole, err := r.join()
		if err != nil {
			return err
		}
		stats := whole.Stats()
		r.Union = &stats
	}
	if err := r.writeReport(training, m.Command); err != nil {
		return err
	}
	return u.Save(m.Output)
}

// join puts all codes into one table, to count codes that catalogues share. Items are called catalogue/item.
func (r *Result) join() (*Table, error) {
	var codes []uint32
	var keys []string
	first := r.Catalogues[0].Catalogue
	for _, c := range r.Catalogues {
		for row := range c.Catalogue.Len() {
			codes = append(codes, c.Catalogue.Codes(row)...)
			keys = append(keys, filepath.Base(c.Output)+"/"+c.Catalogue.Key(row))
		}
	}
	return Build(codes, first.vocab[:first.levels], keys, BuildOptions{})
}

func (r *Result) writeReport(training []vqtrain.Record, command string) error {
	page := report.New("Semantic IDs of "+report.Counted(len(r.Catalogues), "catalogue"), "Tokenizer: "+r.Catalogues[0].Tokenizer+".")
	note := "Each catalogue has its own table and report, in the directory of its name."
	if r.Union == nil {
		note = "A tokenizer each: codes of different catalogues have nothing in common. " + note
	} else {
		note = "One tokenizer for all. " + note + " The last row counts collisions and codes over all items together."
	}
	if charts := tokenize.LevelCharts(training); len(charts) > 0 {
		page.Section("Training", "", charts...)
	}
	overview := r.Table()
	for i, c := range r.Catalogues {
		overview.Rows[i][0].Link = (&url.URL{Path: filepath.Base(c.Output) + "/" + ReportFile}).String()
	}
	page.Section("Catalogues", note, overview)
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command})
	return page.WriteFile(r.Report)
}
