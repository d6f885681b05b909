package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
			published, err := filepath.Glob("../results/" + name + "*")
			if err != nil || len(published) < 3 {
				t.Fatalf("results has %q of %s, %v", published, name, err)
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

// TestReadmeQuotesTheTables compares every figure of README's tables of
// pictures and recommenders with the page that it comes from.
func TestReadmeQuotesTheTables(t *testing.T) {
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	plain := func(cell string) string { return strings.Trim(strings.TrimSuffix(cell, " ="), "* ") }
	readme, pages := read("../README.md"), map[string]string{}
	names := map[string]string{"GRIT": "GRIT-VQ", "plain numbers": "Dense IDs"} // of columns, where the pages have others
	const faces, pictures, recommendation = "## (a) Faces at 128 px, 4,096 codes", "pictures.md", "recommendation.md"
	for _, q := range []struct{ before, row, page, heading, column string }{
		{"Faces at 128 px", "PSNR, 4,096 codes", pictures, faces, "PSNR (dB)"},
		{"Faces at 128 px", "LPIPS, 4,096 codes", pictures, faces, "LPIPS"},
		{"Faces at 128 px", "PSNR, 65,536 codes", pictures, "### PSNR (dB)", "65,536"},
		{"Faces at 128 px", "LPIPS, 65,536 codes", pictures, "### LPIPS", "65,536"},
		{"On Amazon's logs", "generative, Beauty, recall@10", recommendation, "## Generative, Beauty", "R@10"},
		{"On Amazon's logs", "generative, Sports, recall@10", recommendation, "## Generative, Sports and Outdoors", "R@10"},
		{"On Amazon's logs", "generative, Toys, recall@10", recommendation, "## Generative, Toys and Games", "R@10"},
		{"On Amazon's logs", "dual, Beauty, recall@50", recommendation, "## Dual encoder, Beauty", "R@50"},
		{"On Amazon's logs", "dual, Sports, recall@50", recommendation, "## Dual encoder, Sports and Outdoors", "R@50"},
		{"On Amazon's logs", "dual, Toys, recall@50", recommendation, "## Dual encoder, Toys and Games", "R@50"},
	} {
		if pages[q.page] == "" {
			pages[q.page] = read("../results/" + q.page)
		}
		_, section, found := strings.Cut(readme, q.before)
		if !found {
			t.Fatalf("README has no %q", q.before)
		}
		quoted := 0
		for method, cell := range rowOf(t, "\n"+section, "", q.row) {
			if method == "" || cell == "" {
				continue
			}
			name := method
			if other := names[method]; other != "" {
				name = other
			}
			quoted++
			if want := plain(rowOf(t, pages[q.page], q.heading, name)[q.column]); plain(cell) != want {
				t.Errorf("README, %s: %s has %s, results/%s %s", q.row, method, cell, q.page, want)
			}
		}
		if quoted < 2 {
			t.Errorf("README, %s: %d figures", q.row, quoted)
		}
	}
}
