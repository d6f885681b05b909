package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPublishedTablesAreThoseOfTheirRuns makes the tables and figures of
// results/ again from the runs that are kept there.
func TestPublishedTablesAreThoseOfTheirRuns(t *testing.T) {
	for name, tables := range map[string]func(dir string) error{
		pictureResults:        func(dir string) error { return pictureTables(nil, dir) },
		rateResults:           ratePage,
		recommendationResults: func(dir string) error { return recommendationTables(nil, "", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("../results/" + name + ".jsonl"); err != nil {
				t.Skipf("results has no %s.jsonl yet", name)
			}
			published, err := filepath.Glob("../results/" + name + "*")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			contents := map[string][]byte{}
			for _, path := range published {
				base := filepath.Base(path)
				if contents[base], err = os.ReadFile(path); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, base), contents[base], 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := tables(dir); err != nil {
				t.Fatal(err)
			}
			for base, content := range contents {
				if again, err := os.ReadFile(filepath.Join(dir, base)); err != nil || !bytes.Equal(again, content) {
					t.Errorf("results/%s is not what its runs give: run bench again (%v)", base, err)
				}
			}
		})
	}
}
