package catalogue

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnionRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadUnion(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	want := Union{Schema: kind.Schema, Tokenizer: "ab", Catalogues: []string{"beauty", "toys"}}
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := LoadUnion(dir)
	if err != nil || got.Tokenizer != want.Tokenizer || !slices.Equal(got.Catalogues, want.Catalogues) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = Load(dir)
	fails(t, err, "holds the tables of beauty, toys; name one of them, such as "+filepath.Join(dir, "beauty"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "beauty") {
		t.Errorf("%v: want an absent table, and nothing after the advice", err)
	}
	if err := kind.Clear(dir); err != nil {
		t.Fatal(err)
	}
	_, err = Load(dir)
	fails(t, err, "is no table of IDs")
}

func TestDamagedUnions(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON": "x", "no schema": `{"catalogues":["a"]}`, "none": `{"schema":1}`,
		"elsewhere": `{"schema":1,"catalogues":["../a"]}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, UnionFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadUnion(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, UnionFile), []byte(`{"schema":9,"catalogues":["a"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := LoadUnion(dir)
	fails(t, err, "upgrade")
}

func TestNamesOfCatalogues(t *testing.T) {
	if err := checkNames([]string{"a", "b.c"}); err != nil {
		t.Error(err)
	}
	fails(t, checkNames([]string{"Toys", "toys"}), "two catalogues")
	for _, name := range []string{"", "..", "a/b", `a\b`} {
		fails(t, checkNames([]string{name}), "directory")
	}
}

func FuzzUnion(f *testing.F) {
	f.Add([]byte(`{"schema":1,"tokenizer":"ab","catalogues":["a","b"]}`))
	f.Add([]byte(`{"schema":1,"catalogues":["../a"]}`))
	f.Add([]byte(`{"schema":2}`))
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, UnionFile), content, 0o644); err != nil {
			t.Fatal(err)
		}
		u, err := LoadUnion(dir)
		if err != nil {
			return
		}
		for _, name := range u.Catalogues {
			if filepath.Dir(filepath.Join(dir, name)) != dir {
				t.Errorf("%q leads out of the directory", name)
			}
		}
	})
}
