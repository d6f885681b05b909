package table_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/rate"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/lab/table/pictures"
	"github.com/gritvq/gritvq/lab/table/recommendation"
	"github.com/gritvq/gritvq/task"
)

const results = "../../results"

// TestPublishedTablesAreThoseOfTheirRuns makes the tables and figures of
// results/ again from the runs that are kept there.
func TestPublishedTablesAreThoseOfTheirRuns(t *testing.T) {
	for name, write := range map[string]func(dir string) error{
		pictures.Name:       func(dir string) error { return pictures.Document.Write(nil, dir, task.Silent{}) },
		rate.Name:           rate.Write,
		recommendation.Name: func(dir string) error { return recommendation.Document("").Write(nil, dir, task.Silent{}) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(results, name+".md")); err != nil {
				t.Fatal(err)
			}
			stale, err := table.Stale(results, name, write)
			if err != nil || len(stale) > 0 {
				t.Errorf("%q in results/ are not what their runs give, run bench again (%v)", stale, err)
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
	rowOf := func(page, heading string, begins ...string) map[string]string {
		row, err := table.FindRow(page, heading, begins...)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	readme, pages := read("../../README.md"), map[string]string{}
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
			pages[q.page] = read(filepath.Join(results, q.page))
		}
		_, section, found := strings.Cut(readme, q.before)
		if !found {
			t.Fatalf("README has no %q", q.before)
		}
		quoted := 0
		for method, cell := range rowOf("\n"+section, "", q.row) {
			if method == "" || cell == "" {
				continue
			}
			name := method
			if other := names[method]; other != "" {
				name = other
			}
			quoted++
			if want := plain(rowOf(pages[q.page], q.heading, name)[q.column]); plain(cell) != want {
				t.Errorf("README, %s: %s has %s, results/%s %s", q.row, method, cell, q.page, want)
			}
		}
		if quoted < 2 {
			t.Errorf("README, %s: %d figures", q.row, quoted)
		}
	}
}
