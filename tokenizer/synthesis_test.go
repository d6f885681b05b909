package tokenizer

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// cellError is the mean squared error of a cell of pictures with the given latents, summed over its values.
func cellError(t *testing.T, tok *Tokenizer, set weights.Set, items dataset.Batch, z []float32) float64 {
	t.Helper()
	store := model.NewStore()
	defer store.Finalize()
	if err := weights.Install(store, set); err != nil {
		t.Fatal(err)
	}
	out, err := model.CallOnceN(gradtest.Engine(t), store, func(_ *model.Scope, x, z *graph.Node) []*graph.Node {
		v := weights.FromStore(store, x.Graph())
		gap := graph.Sub(tok.reconstruct(v, z, nil), tok.network.standardize(v, x))
		return []*graph.Node{graph.ReduceAllSum(graph.Square(gap))}
	}, tok.Tensor(items), tensors.FromFlatDataAndDimensions(z, items.N*16, tok.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	return float64(tensors.ToScalar[float32](out[0])) / float64(items.N*16)
}

// Fitted to few pictures, the path is as good for others as the map of squares alone; fitted to many it is better.
func TestSynthesisOfFewPictures(t *testing.T) {
	tok, set, items := linearFixture(t, 5)
	started, err := tok.Quantizer.Init(vq.Latents{Rows: make([]float32, 10), N: 2, Dim: 5}, weights.Rand(5, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range started["level0/codes"].Data {
		started["level0/codes"].Data[i] = float32(weights.Rand(uint64(i), "code").NormFloat64())
	}
	z, err := runtime(t, tok, set.Clone().Merge("quantizer", started)).Quantized(t.Context(), items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	part := func(from, to int) (dataset.Batch, []float32) {
		size := len(items.Pixels) / items.N
		return dataset.Batch{N: to - from, Pixels: items.Pixels[from*size : to*size]}, z[from*16*5 : to*16*5]
	}
	others, latents := part(20, items.N)
	alone := cellError(t, tok, set, others, latents)
	for pictures, most := range map[int]float64{2: 1.02, 4: 1.02, 20: 0.9} {
		fitted := set.Clone()
		for _, name := range []string{"decoder/linear/weights", "decoder/linear/bias"} {
			fitted[name] = fitted[name].Clone()
		}
		few, quantized := part(0, pictures)
		if err := tok.FitSynthesis(fitted, few, quantized, 1); err != nil {
			t.Fatal(err)
		}
		if e := cellError(t, tok, fitted, others, latents); e > most*alone {
			t.Errorf("fitted to %d pictures the path has an error of %g for others, the map alone %g", pictures, e, alone)
		}
	}
}

// The fitted path is where its squared error, computed by the decoder itself, is least: it rises in every direction.
func TestSynthesisIsLeastSquares(t *testing.T) {
	tok, set, items := linearFixture(t, 5)
	started, err := tok.Quantizer.Init(vq.Latents{Rows: make([]float32, 10), N: 2, Dim: 5}, weights.Rand(5, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range started["level0/codes"].Data {
		started["level0/codes"].Data[i] = float32(weights.Rand(uint64(i), "code").NormFloat64())
	}
	r := runtime(t, tok, set.Clone().Merge("quantizer", started))
	z, err := r.Quantized(t.Context(), items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := set.Clone()
	kernel, bias := "decoder/linear/weights", "decoder/linear/bias"
	for _, name := range []string{kernel, bias} {
		set[name] = set[name].Clone()
	}
	if err := tok.FitSynthesis(set, items, z, 1); err != nil {
		t.Fatal(err)
	}
	// objective is the mean squared error of a cell, summed over its values, and the ridge, which the bias has too.
	objective := func(set weights.Set) float64 {
		total := cellError(t, tok, set, items, z)
		for _, name := range []string{kernel, bias} {
			for i, x := range set[name].Data {
				d := float64(x - before[name].Data[i])
				total += synthesisRidge * d * d
			}
		}
		return total
	}
	least := objective(set)
	if block := objective(before); !(least < 0.9*block) {
		t.Errorf("neighbours bring the error from %g to %g only", block, least)
	}
	for seed := range uint64(4) {
		for _, sign := range []float32{-1, 1} {
			moved, rng := set.Clone(), weights.Rand(seed, "direction")
			for _, name := range []string{kernel, bias} {
				moved[name] = moved[name].Clone()
				for i := range moved[name].Data {
					moved[name].Data[i] += sign * 0.003 * float32(rng.NormFloat64())
				}
			}
			if there := objective(moved); there <= least {
				t.Errorf("direction %d: the error falls from %g to %g", seed, least, there)
			}
		}
	}
}
