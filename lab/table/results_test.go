package table_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/generation"
	"github.com/gritvq/gritvq/lab/rate"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/lab/table/pictures"
	"github.com/gritvq/gritvq/lab/table/recommendation"
	"github.com/gritvq/gritvq/lab/vectors"
	"github.com/gritvq/gritvq/task"
)

const results = "../../results"

// TestPublishedTablesAreThoseOfTheirRuns makes the tables and figures of
// results/ again from the runs that are kept there.
func TestPublishedTablesAreThoseOfTheirRuns(t *testing.T) {
	for name, write := range map[string]func(dir string) error{
		pictures.Name:       func(dir string) error { return pictures.Document.Write(nil, dir, task.Silent{}) },
		rate.Name:           rate.Write,
		generation.Name:     func(dir string) error { return generation.Document.Write(nil, dir, task.Silent{}) },
		vectors.Name:        func(dir string) error { return vectors.Run(t.Context(), vectors.Options{Output: dir}, task.Silent{}) },
		recommendation.Name: func(dir string) error { return recommendation.Document("").Write(nil, dir, task.Silent{}) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(results, name+".md")); err != nil {
				t.Fatal(err)
			}
			files, err := stale(results, name, write)
			if err != nil || len(files) > 0 {
				t.Errorf("%q in results/ are not what their runs give, run bench again (%v)", files, err)
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
	names := map[string]map[string]string{ // of columns, where the pages have others
		"amazon.md":   {"GRIT": "grit", "EMA-VQ": "ema", "DiVeQ": "diveq", "SimVQ": "simvq", "STE, RQ-VAE": "ste", "FSQ": "fsq (31.6 bits)"},
		"pictures.md": {"GRIT": "GRIT-VQ"}, "recommendation.md": {"GRIT": "GRIT-VQ", "STE, RQ-VAE": "RQ-VAE"},
	}
	const faces, context = "## Faces at 128 px, 4,096 codes", " with context"
	for _, q := range []struct{ row, page, heading, column, variant string }{
		{"Sports embeddings, 4 x 256 codes, relative error", "amazon.md", "## Four residual levels of 256 codes (32 bits)", "Sports", ""},
		{"faces 128 px, 4,096 codes, PSNR", "pictures.md", faces, "PSNR (dB)", ""},
		{"faces, with context, PSNR", "pictures.md", faces, "PSNR (dB)", context},
		{"faces 128 px, 4,096 codes, LPIPS", "pictures.md", faces, "LPIPS", ""},
		{"faces, with context, LPIPS", "pictures.md", faces, "LPIPS", context},
		{"generative recommender, Beauty, recall@10", "recommendation.md", "## Generative, Beauty", "R@10", ""},
		{"generative recommender, Sports, recall@10", "recommendation.md", "## Generative, Sports and Outdoors", "R@10", ""},
		{"dual encoder, Beauty, recall@50", "recommendation.md", "## Dual encoder, Beauty", "R@50", ""},
	} {
		if pages[q.page] == "" {
			pages[q.page] = read(filepath.Join(results, q.page))
		}
		quoted := 0
		for method, cell := range rowOf(readme, "## Which quantizer?", q.row) {
			if method == "" || cell == "" {
				continue
			}
			name := method
			if other := names[q.page][method]; other != "" {
				name = other
			}
			quoted++
			if want := plain(rowOf(pages[q.page], q.heading, name+q.variant)[q.column]); plain(cell) != want {
				t.Errorf("README, %s: %s has %s, results/%s %s", q.row, method, cell, q.page, want)
			}
		}
		if quoted < 2 {
			t.Errorf("README, %s: %d figures", q.row, quoted)
		}
	}
}

// stale makes the page dir/name.md and its figures again in a temporary directory, and returns the files in dir
// that differ.
func stale(dir, name string, write func(dir string) error) (files []string, err error) {
	again, err := os.MkdirTemp("", "gritvq-page-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(again)
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		return nil, err
	}
	if err := write(again); err != nil {
		return nil, err
	}
	made, err := filepath.Glob(filepath.Join(again, name+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range made {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		published, missing := os.ReadFile(filepath.Join(dir, filepath.Base(path)))
		if missing != nil || !bytes.Equal(content, published) {
			files = append(files, filepath.Base(path))
		}
	}
	return files, nil
}
