package export

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/weights"
)

// rows of every test's vectors, 16 numbers each.
const rows, width = 1500, 16

// someVectors writes correlated vectors with a mean.
func someVectors(t testing.TB, dir string) (path string, values []float32) {
	t.Helper()
	source, mix := weights.Normal(weights.Rand(1, "source"), 1, rows, width), weights.Normal(weights.Rand(2, "mix"), 0.4, width, width)
	values = make([]float32, rows*width)
	for i := range rows {
		for j := range width {
			values[i*width+j] = 2
			for k := range width {
				values[i*width+j] += source.Data[i*width+k] * mix.Data[k*width+j]
			}
		}
	}
	path = filepath.Join(dir, "x.npy")
	if err := vectors.Write(path, width, values); err != nil {
		t.Fatal(err)
	}
	return path, values
}

// trained returns the directory of a tokenizer of the data with these settings.
func trained(t testing.TB, dir, name, data string, sets ...string) string {
	t.Helper()
	layers := tokenize.Settings{Preset: "default", Sets: append([]string{"train.choose=[]", "train.steps=3", "train.batch=64"}, sets...)}
	c, err := layers.Config()
	if err != nil {
		t.Fatal(err)
	}
	o := tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: data}, Output: filepath.Join(dir, name), Backend: "go"}
	if _, err := tokenize.Train(t.Context(), o, task.Silent{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return o.Output
}

// changed stores a copy of a tokenizer with other weights.
func changed(t testing.TB, from, to string, change func(*bundle.Bundle)) string {
	t.Helper()
	b, err := bundle.Load(from)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := bundle.Write(to, b); err != nil {
		t.Fatal(err)
	}
	return to
}
