package prior

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// stored is a tokenizer of pictures of 16 px as 8 x 8 cells of 8 codes.
const stored = "../../testdata/stored/pictures"

const scenes = "synthetic:scenes?images=40&size=16"

// small are settings of a network that trains in a second.
func small(steps int, more ...string) Settings {
	return Settings{Set: append([]string{"model.layers=1", "model.width=16", "model.heads=2", "model.dropout=0", "train.batch=8",
		fmt.Sprintf("train.steps=%d", steps)}, more...)}
}

// pictures trains a prior of the stored tokenizer on built-in pictures.
func trainPictures(t *testing.T, o TrainOptions) *Prior {
	t.Helper()
	o.Source.Tokenizer, o.Source.Pictures = stored, scenes
	return trained(t, o)
}

func trained(t *testing.T, o TrainOptions) *Prior {
	t.Helper()
	p, err := tryTrain(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// writeRows makes a file of rows of codes of one level.
func writeRows(t *testing.T, rows [][]uint32, vocab int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "codes.npy")
	w, err := codes.Create(path, codes.Content{Vocab: []int{vocab}, Rows: len(rows), Cells: len(rows[0])})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.WriteRows(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// grammar has rows that follow from their first two codes: a code is the sum of the two
// before it, modulo 5.
func grammar() (rows [][]uint32) {
	for first := range uint32(5) {
		for second := range uint32(5) {
			row := []uint32{first, second}
			for len(row) < 10 {
				row = append(row, (row[len(row)-1]+row[len(row)-2])%5)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func obeys(row []uint32) bool {
	for at := 2; at < len(row); at++ {
		if row[at] != (row[at-1]+row[at-2])%5 {
			return false
		}
	}
	return true
}

// read returns the rows of a file of codes.
func read(t *testing.T, path string) (rows [][]uint32) {
	t.Helper()
	f, err := codes.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.Len() {
		row := make([]uint32, f.Levels())
		if err := f.Rows(i, 1, row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// files returns the content of the files of a directory, whose names may begin with a dot.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if content, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			all[e.Name()] = string(content)
		}
	}
	return all
}

// refused fails the test unless an error is one sentence with a text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, text)
	}
}

// The workflows on the embedded engine.

func tryTrain(ctx context.Context, o TrainOptions, w task.Watcher) (*Prior, error) {
	o.Backend = "go"
	return TrainPrior(ctx, o, w)
}

func tryEvaluate(t *testing.T, o EvalOptions) (*Scores, error) {
	o.Backend = "go"
	return Evaluate(t.Context(), o, task.Silent{})
}

// trySample fills in what draws from the model's own distribution.
func trySample(ctx context.Context, o SampleOptions, w task.Watcher) (*Sampled, error) {
	o.Backend = "go"
	if o.Sampling == (gpt.SamplerOptions{}) {
		o.Sampling = gpt.DefaultSampling()
	}
	return Sample(ctx, o, w)
}

func sampled(t *testing.T, o SampleOptions) *Sampled {
	t.Helper()
	s, err := trySample(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
