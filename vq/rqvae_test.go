package vq

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gritvq/gritvq/internal/gradtest"
)

// rqvae is ste but for what TIGER publishes otherwise: the start on one batch of
// the untrained encoder, and no resets.
func TestRQVAEDiffersFromSTEAsPublished(t *testing.T) {
	ste, rqvae := STE.Config(), RQVAE.Config()
	if rqvae.Start.From != "kmeans" || rqvae.Start.Sample != 1024 || rqvae.Start.Warmup != 0 || rqvae.Resets.Every != 0 {
		t.Errorf("start %+v, resets %+v", rqvae.Start, rqvae.Resets)
	}
	if rqvae.Loss.Codebook != 1 || rqvae.Loss.Commitment != 0.25 {
		t.Errorf("losses %+v", rqvae.Loss)
	}
	ste.Method, ste.Start.Warmup, ste.Start.Sample, ste.Resets.Every = "rqvae", 0, 1024, 0
	if diff := cmp.Diff(ste, rqvae); diff != "" {
		t.Errorf("other differences (-ste +rqvae):\n%s", diff)
	}
}

// Losses add up over levels, and every level starts as k-means of what the ones
// before left: with a code a latent, the second level has nothing to do.
func TestRQVAEStartsEveryLevelOnTheRest(t *testing.T) {
	c := RQVAE.Config()
	c.Codes, c.Levels = 12, 2
	q, sample, set := startFixture(t, c, 3, 12)
	f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{12, 3}, Data: make([]float64, 36)}}
	for i, x := range sample.Rows {
		f.z.Data[i] = float64(x)
	}
	second := widen(set["level1/codes"]).Data
	gradtest.Close(t, "second level", second, make([]float64, len(second)), 1e-9)
	for i := range set["level1/codes"].Data { // what a level adds to the loss is not averaged away
		set["level1/codes"].Data[i] = 2
	}
	loss := lossOf(t, f)
	gradtest.Close(t, "loss", []float64{loss}, []float64{1.25 * 4}, 1e-5)
}
