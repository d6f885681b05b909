package onnx

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// sample is a tokenizer with made-up weights.
type sample struct {
	name     string
	bundle   *bundle.Bundle
	runtime  *tokenizer.Runtime
	items    dataset.Batch
	exported *bundle.Bundle // whose networks are run
}

func backend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spec is a small tokenizer of a method.
func spec(t testing.TB, method string, change func(*tokenizer.Spec)) tokenizer.Spec {
	t.Helper()
	s, err := tokenizer.DefaultSpec(method)
	if err != nil {
		t.Fatal(err)
	}
	s.Model.Dim, s.Model.Hidden = 0, nil
	s.Quantizer.Codes, s.Quantizer.Levels, s.Quantizer.Beam = 16, 3, 1
	s.Quantizer.Transform.Rank = 4
	if s.Quantizer.Start.From == "rq" {
		s.Quantizer.Start.From = "kmeans"
	}
	change(&s)
	return s
}

// made fills a tokenizer of items of input numbers with weights none of which is zero throughout.
func made(t testing.TB, name string, s tokenizer.Spec, input int, items dataset.Batch) sample {
	t.Helper()
	m, err := tokenizer.New(s, input)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	mean, variance := make([]float64, input), make([]float64, input)
	for i := range mean {
		mean[i], variance[i] = float64(i%3), 1+float64(i%4)
	}
	set := m.InitNetwork(1, tokenizer.Sample{Mean: mean, Variance: variance})
	for _, path := range set.Paths() {
		if zeros(set[path]) {
			set[path] = weights.Normal(weights.Rand(2, path), 0.05, set[path].Shape...)
		}
	}
	const rows = 4 * 64 // whole grids of pictures too
	latents := weights.Normal(weights.Rand(3, "latents"), 1, rows, m.Dim())
	quantizer, err := m.Quantizer.Init(vq.Latents{Rows: latents.Data, N: rows, Dim: m.Dim()}, weights.Rand(4, "codes"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, path := range quantizer.Paths() {
		if strings.Contains(path, "condition/") {
			quantizer[path] = weights.Normal(weights.Rand(5, path), 0.2, quantizer[path].Shape...)
		}
	}
	set.Merge(vq.Prefix, quantizer)
	b := &bundle.Bundle{Tokenizer: m, Weights: set}
	if b.Codebooks, err = tokenizer.Usable(backend(t), m, set); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return sampleOf(t, name, b, b, items)
}

func sampleOf(t testing.TB, name string, b, exported *bundle.Bundle, items dataset.Batch) sample {
	t.Helper()
	r, err := b.Runtime(backend(t))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(r.Close)
	return sample{name, b, r, items, exported}
}

// resized takes the networks of a sample for pictures of another size, with the results of a tokenizer of that size.
func resized(t testing.TB, of sample, size int) sample {
	t.Helper()
	s := of.bundle.Tokenizer.Spec
	s.Model.Image.Size = size
	m, err := tokenizer.New(s, s.Model.Image.Input())
	if err != nil {
		t.Fatalf("%s: %v", of.name, err)
	}
	b := &bundle.Bundle{Tokenizer: m, Weights: of.bundle.Weights, Codebooks: of.bundle.Codebooks}
	return sampleOf(t, of.name+"-resized", b, of.bundle, pictureItems(3, size))
}

func zeros(a *weights.Array) bool {
	for _, x := range a.Data {
		if x != 0 {
			return false
		}
	}
	return true
}

// vectorItems are vectors of 6 numbers.
func vectorItems(n int) dataset.Batch {
	return dataset.Batch{N: n, Values: weights.Normal(weights.Rand(6, "vectors"), 1.5, n, 6).Data}
}

// pictureItems are pictures of a size, smooth with noise.
func pictureItems(n, size int) dataset.Batch {
	x := dataset.Batch{N: n}
	noise := weights.Uniform(weights.Rand(7, "pictures"), 20, n*size*size*3).Data
	for i := range noise {
		y, column := i/3/size%size, i/3%size
		x.Pixels = append(x.Pixels, uint8(110+noise[i]+float32((y*(3+i%3)+column*5)%90)))
	}
	return x
}
