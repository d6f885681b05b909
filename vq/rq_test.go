package vq

import (
	"testing"

	"github.com/gritvq/gritvq/index"
)

// beamError is the mean squared error of a sample encoded with a beam.
func beamError(t *testing.T, c Config, f Fitted, sample Latents, beam int) float64 {
	t.Helper()
	var levels []*index.Codes
	for l := range c.Levels {
		book := f.Variables[levelPath(l)+"/codes"]
		codes, err := index.NewCodes(book.Data, book.Shape[0], book.Shape[1])
		if err != nil {
			t.Fatal(err)
		}
		levels = append(levels, codes)
	}
	stack, err := index.NewResidual(levels...)
	if err != nil {
		t.Fatal(err)
	}
	codes, decoded := make([]uint32, sample.N*c.Levels), make([]float32, len(sample.Rows))
	stack.Encode(sample.Rows, sample.N, 0, beam, codes, 0)
	if err := stack.Decode(codes, sample.N, 0, decoded); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, x := range decoded {
		gap := float64(x) - float64(sample.Rows[i])
		total += gap * gap
	}
	return total / float64(len(decoded))
}

// Codebooks fitted to what a beam leaves are better for a beam than those fitted
// to what greedy encoding leaves, and both beat encoding them greedily.
func TestRQFitsForItsBeam(t *testing.T) {
	c := classical(t, "rq", 4, 1)
	c.Codes = 16
	if c.Beam() != 5 {
		t.Errorf("the beam of rq is %d, want 5", c.Beam())
	}
	greedy := c
	greedy.Method = "kmeans"
	if greedy.Beam() != 1 {
		t.Errorf("the beam of kmeans is %d, want 1", greedy.Beam())
	}
	var withBeam, without, encodedGreedily float64
	for seed := range uint64(4) {
		sample := gaussianSample(20+seed, 2000, 8)
		f := fitted(t, c, sample, FitOptions{Seed: seed})
		withBeam += beamError(t, c, f, sample, 5)
		encodedGreedily += beamError(t, c, f, sample, 1)
		without += beamError(t, c, fitted(t, greedy, sample, FitOptions{Seed: seed}), sample, 5)
	}
	t.Logf("fitted and encoded with a beam %.4f, fitted greedily %.4f, encoded greedily %.4f", withBeam, without, encodedGreedily)
	if !(withBeam < without && withBeam < encodedGreedily) {
		t.Errorf("error %g with the beam, %g fitted greedily, %g encoded greedily", withBeam, without, encodedGreedily)
	}
}
