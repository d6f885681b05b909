package tokenizer

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

var models = map[string]Config{
	"vectors themselves": {Activation: "relu", Standardize: "scale"},
	"network":            {Dim: 6, Hidden: []int{24, 10}, Activation: "gelu", Standardize: "feature"},
}

// A vector's codes depend on the vector alone: not on the batch it comes in, its
// place there, or the number of workers.
func TestCodesDependOnTheVectorAlone(t *testing.T) {
	const n, dim = BlockRows + 77, 8
	for name, c := range models {
		for _, parts := range []int{1, 2} {
			tok, set := newTokenizer(t, c, quantizer(t, "grit", parts), dim)
			r := runtime(t, tok, set)
			x := sampleRows(n, dim, 21)
			for _, o := range []Options{{}, {Beam: 3}} {
				whole := encode(t, r, x, n, o)
				positions := r.Positions(o)
				for _, size := range []int{1, 7, 500, 1024} {
					start, limit := 3, min(n, 3+6*size)
					for start < limit {
						count := min(size, limit-start)
						got := encode(t, r, x[start*dim:(start+count)*dim], count, Options{Beam: o.Beam, Workers: 1 + start%3})
						if !slices.Equal(got, whole[start*positions:(start+count)*positions]) {
							t.Fatalf("%s, %d parts: rows %d.. in pieces of %d have other codes", name, parts, start, size)
						}
						start += count
					}
				}
			}
		}
	}
}

func encode(t testing.TB, r *Runtime, x []float32, n int, o Options) []uint32 {
	t.Helper()
	codes, err := r.Encode(context.Background(), dataset.VectorBatch(x, n), o)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// decode(encode(x)) is the model's hard reconstruction, to the bit: the graph's
// own lookup and decoder on the same codes and block of rows.
func TestDecodeIsTheHardReconstruction(t *testing.T) {
	const dim = 8
	for name, c := range models {
		for _, method := range []string{"grit", "ste", "ema"} {
			for _, parts := range []int{1, 2} {
				tok, set := newTokenizer(t, c, quantizer(t, method, parts), dim)
				r := runtime(t, tok, set)
				x := sampleRows(BlockRows, dim, 31)
				codes := encode(t, r, x, BlockRows, Options{})
				got, err := r.Decode(t.Context(), codes, BlockRows, r.Positions(Options{}))
				if err != nil {
					t.Fatal(err)
				}
				out := onGraph(t, set, x, BlockRows, dim, func(v weights.Vars, x *graph.Node) []*graph.Node {
					out := tok.Pass(&vq.Context{Vars: v}, x).Quantized
					ctx := &vq.Context{Vars: v.In("quantizer")}
					looked := vq.Lookup(tok.Quantizer, ctx, out.Index)
					return []*graph.Node{graph.ConvertDType(out.Index, x.DType()), tok.Decode(v, out.Hard), tok.Decode(v, looked)}
				})
				differ := 0
				for i, code := range codes {
					if float32(code) != out[0][i] {
						differ++
					}
				}
				if differ > len(codes)/200 {
					t.Errorf("%s %s: %d of %d codes differ between graph and runtime", name, method, differ, len(codes))
				}
				positions := r.Positions(Options{})
				for row := range BlockRows {
					if !sameCodes(codes[row*positions:(row+1)*positions], out[0][row*positions:(row+1)*positions]) {
						continue // a near-tie was decided differently
					}
					for i := row * dim; i < (row+1)*dim; i++ {
						if math.Float32bits(got.Values[i]) != math.Float32bits(out[1][i]) || got.Values[i] != out[2][i] {
							t.Fatalf("%s %s, %d parts: element %d is %v, the graph says %v and looks up %v",
								name, method, parts, i, got.Values[i], out[1][i], out[2][i])
						}
					}
				}
			}
		}
	}
}

func sameCodes(a []uint32, b []float32) bool {
	for i := range a {
		if float32(a[i]) != b[i] {
			return false
		}
	}
	return true
}

// Decoding depends on a row's codes alone.
func TestDecodeInPieces(t *testing.T) {
	tok, set := newTokenizer(t, models["network"], quantizer(t, "grit", 1), 8)
	r := runtime(t, tok, set)
	const n = 50
	codes := encode(t, r, sampleRows(n, 8, 41), n, Options{})
	whole, err := r.Decode(t.Context(), codes, n, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		one, err := r.Decode(t.Context(), codes[3*i:3*i+3], 1, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.Values, whole.Values[8*i:8*i+8]) {
			t.Fatalf("row %d decodes differently alone", i)
		}
	}
}

// Fewer levels are the leading codes of every part, and decode to a coarser
// vector.
func TestFewerLevels(t *testing.T) {
	for _, parts := range []int{1, 2} {
		tok, set := newTokenizer(t, models["vectors themselves"], quantizer(t, "ste", parts), 8)
		r := runtime(t, tok, set)
		const n = 200
		x := sampleRows(n, 8, 51)
		all := encode(t, r, x, n, Options{})
		previous := math.Inf(1)
		for levels := 1; levels <= 3; levels++ {
			o := Options{Levels: levels}
			codes := encode(t, r, x, n, o)
			if r.Positions(o) != parts*levels || len(codes) != n*parts*levels {
				t.Fatalf("%d levels: %d positions, %d codes", levels, r.Positions(o), len(codes))
			}
			for i := range n {
				for p := range parts {
					at := (i*parts + p)
					if !slices.Equal(codes[at*levels:(at+1)*levels], all[at*3:at*3+levels]) {
						t.Fatalf("%d levels: row %d part %d is not a prefix", levels, i, p)
					}
				}
			}
			y, err := r.Decode(t.Context(), codes, n, parts*levels)
			if err != nil {
				t.Fatal(err)
			}
			e := 0.0
			for i, v := range y.Values {
				e += float64(v-x[i]) * float64(v-x[i])
			}
			if e >= previous {
				t.Errorf("%d levels have error %g, one fewer %g", levels, e, previous)
			}
			previous = e
		}
	}
}

func TestRuntimeErrors(t *testing.T) {
	tok, set := newTokenizer(t, models["network"], quantizer(t, "ste", 2), 8)
	r := runtime(t, tok, set)
	ctx := t.Context()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	failed := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"7 values for 1 rows":             failed(r.Encode(ctx, dataset.VectorBatch(make([]float32, 7), 1), Options{})),
		"4 levels were asked for":         failed(r.Encode(ctx, dataset.VectorBatch(make([]float32, 8), 1), Options{Levels: 4})),
		"-1 levels were asked for":        failed(r.Encode(ctx, dataset.VectorBatch(make([]float32, 8), 1), Options{Levels: -1})),
		"3 codes a vector do not fit":     failed(r.Decode(ctx, make([]uint32, 3), 1, 3)),
		"8 codes a vector do not fit":     failed(r.Decode(ctx, make([]uint32, 8), 1, 8)),
		"got 5 codes for 1 rows":          failed(r.Decode(ctx, make([]uint32, 5), 1, 6)),
		"row 1 holds code 20":             failed(r.Decode(ctx, []uint32{0, 1, 2, 20}, 2, 2)),
		"5 codebooks for 6 code position": failed(NewRuntime(gradtest.Engine(t), tok, set, make([]*weights.Array, 5))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := r.Encode(ended, dataset.VectorBatch(make([]float32, 8), 1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled encoding: %v", err)
	}
	delete(set, "encoder/layer0/bias")
	broken, err := NewRuntime(gradtest.Engine(t), tok, set, nil)
	if err == nil {
		_, err = broken.Latents(ctx, dataset.VectorBatch(make([]float32, 8), 1))
	}
	if err == nil || !strings.Contains(err.Error(), "encoder/layer0/bias") {
		t.Errorf("missing variable: %v", err)
	}
}

// One runtime serves many callers at once.
func TestRuntimeIsSafeForConcurrentUse(t *testing.T) {
	tok, set := newTokenizer(t, models["network"], quantizer(t, "grit", 1), 8)
	r := runtime(t, tok, set)
	x := sampleRows(64, 8, 61)
	want := encode(t, r, x, 64, Options{})
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for range 5 {
				codes, err := r.Encode(context.Background(), dataset.VectorBatch(x, 64), Options{})
				if err != nil || !slices.Equal(codes, want) {
					t.Errorf("concurrent encoding: %v", err)
				}
				if _, err := r.Decode(context.Background(), codes, 64, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Scores of a small set equal those computed from its reconstruction by hand.
func TestEvaluate(t *testing.T) {
	vectors, err := vectors.Open(t.Context(), "synthetic:mixture?rows=5000&dim=8", vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer vectors.Close()
	tok, set := newTokenizer(t, models["vectors themselves"], quantizer(t, "ste", 1), 8)
	r := runtime(t, tok, set)
	var done []int
	rows := dataset.All(4500)
	result, usage, err := r.Evaluate(t.Context(), vectors, rows, Options{Levels: 2}, func(c Coded) error {
		done = append(done, c.Done, len(c.Rows))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	scores := result.(*Scores)
	x := make([]float32, 4500*8)
	if err := vectors.Rows(0, 4500, x); err != nil {
		t.Fatal(err)
	}
	codes := encode(t, r, x, 4500, Options{Levels: 2})
	y, err := r.Decode(t.Context(), codes, 4500, 2)
	if err != nil {
		t.Fatal(err)
	}
	mse, total := 0.0, 0.0
	var mean [8]float64
	for i, v := range x {
		mean[i%8] += float64(v) / 4500
	}
	for i, v := range x {
		mse += math.Pow(float64(v)-float64(y.Values[i]), 2) / float64(len(x))
		total += math.Pow(float64(v)-mean[i%8], 2) / float64(len(x))
	}
	used := [2]map[uint32]bool{{}, {}}
	for i, code := range codes {
		used[i%2][code] = true
	}
	if math.Abs(scores.MSE/mse-1) > 1e-6 || math.Abs(scores.RelativeError/(mse/total)-1) > 1e-6 {
		t.Errorf("error %g and %g, want %g and %g", scores.MSE, scores.RelativeError, mse, mse/total)
	}
	for l := range used {
		if want := float64(len(used[l])) / 20; scores.Utilization.Levels[l] != want {
			t.Errorf("utilization of level %d is %g, want %g", l, scores.Utilization.Levels[l], want)
		}
	}
	if math.Abs(scores.BitsPerVector-2*math.Log2(20)) > 1e-9 || scores.Vectors != 4500 || scores.TokensPerCode != 225 {
		t.Errorf("%+v", scores)
	}
	if usage == nil || !slices.Equal(done, []int{4096, 4096, 4500, 404}) {
		t.Errorf("progress %v", done)
	}
}
