package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// phasedFixture is a tokenizer of 12 px pictures as grids of 4 x 4 (or of side 3) cells in phases, with a network that
// moves codes far, and pictures.
func phasedFixture(t *testing.T, phases, cell, levels, parts int) (*Tokenizer, weights.Set, dataset.Batch) {
	t.Helper()
	set, err := images.Open(t.Context(), "synthetic:scenes?images=70&size=12", images.Options{Size: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	rows := make([]int, set.Len())
	for i := range rows {
		rows[i] = i
	}
	items, _, err := set.Read(rows)
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Dim, c.Image = 6, Image{Size: 12, Widths: []int{4, 4}, Strides: []int{cell}, Blocks: 1, Up: "nearest", Linear: true, Precision: "f32"}
	q := quantizer(t, "grit", parts)
	q.Levels, q.Transform.Context, q.Transform.ContextWidth = levels, phases, 16
	tok, err := New(Spec{c, q}, set.Input())
	if err != nil {
		t.Fatal(err)
	}
	variables := tok.InitNetwork(3, Sample{Items: items})
	encoder, err := NewRuntime(gradtest.Engine(t), tok, variables, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	z, err := encoder.Latents(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	codes, err := tok.Quantizer.Init(vq.Latents{Rows: z, N: items.N * tok.Tokens(), Dim: tok.Dim()}, weights.Rand(1, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	rng := weights.Rand(2, "away from the start")
	for _, p := range codes.Paths() {
		if strings.Contains(p, "/last/") {
			for i := range codes[p].Data {
				codes[p].Data[i] += float32(0.4 * rng.NormFloat64())
			}
		}
	}
	return tok, variables.Merge(vq.Prefix, codes), items
}

func phasedCases(t *testing.T, visit func(t *testing.T, tok *Tokenizer, set weights.Set, items dataset.Batch)) {
	for _, phases := range []int{2, 4} {
		for _, shape := range [][3]int{{3, 1, 1}, {4, 2, 1}, {4, 2, 2}} { // cell, levels, parts
			t.Run(fmt.Sprintf("phases=%d,shape=%v", phases, shape), func(t *testing.T) {
				tok, set, items := phasedFixture(t, phases, shape[0], shape[1], shape[2])
				visit(t, tok, set, items)
			})
		}
	}
}

// Codes are those of the graph; decoding gives the latents that encoding saw, to the bit, whatever the batch, the workers
// and the number of levels.
func TestPhasesEncodeAndDecode(t *testing.T) {
	phasedCases(t, func(t *testing.T, tok *Tokenizer, set weights.Set, items dataset.Batch) {
		r, layout := runtime(t, tok, set), tok.Quantizer.Layout()
		z, err := r.Latents(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		cells := tok.Cells(items.N)
		codes, err := r.Assign(t.Context(), z, cells, Options{})
		if err != nil {
			t.Fatal(err)
		}
		latents, err := r.LookUp(t.Context(), codes, cells, layout.Positions())
		if err != nil {
			t.Fatal(err)
		}
		out := onGraph(t, set, z, cells.Len(), tok.Dim(), func(v weights.Vars, z *graph.Node) []*graph.Node {
			ctx := &vq.Context{Vars: v.In(vq.Prefix)}
			out := tok.Quantizer.Build(ctx, z)
			return []*graph.Node{graph.ConvertDType(out.Index, z.DType()), out.Hard}
		})
		differ := 0
		each := tok.Tokens() * layout.Positions()
		for i := range items.N { // a near-tie changes the rest of its picture
			if !sameCodes(codes[i*each:(i+1)*each], out[0][i*each:(i+1)*each]) {
				differ++
				continue
			}
			for j := i * tok.Tokens() * tok.Dim(); j < (i+1)*tok.Tokens()*tok.Dim(); j++ {
				if math.Abs(float64(latents[j]-out[1][j])) > 1e-5 {
					t.Fatalf("element %d is %v, the graph says %v", j, latents[j], out[1][j])
				}
			}
		}
		if differ > 2 {
			t.Errorf("the codes of %d pictures of %d differ from the graph's", differ, items.N)
		}
		for i, n := range map[int]int{0: 1, 13: 1, 66: 4, 5: 40} {
			part := dataset.PictureBatch(items.Pixels[i*tok.Input:(i+n)*tok.Input], n)
			alone, err := r.Encode(t.Context(), part, Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(alone, codes[i*each:(i+n)*each]) {
				t.Errorf("%d pictures from %d have other codes among others", n, i)
			}
			own, err := r.LookUp(t.Context(), alone, tok.Cells(n), layout.Positions())
			if err != nil || !slices.Equal(own, latents[i*len(own)/n:i*len(own)/n+len(own)]) {
				t.Errorf("%d pictures from %d decode to other latents among others: %v", n, i, err)
			}
		}
		if _, err := r.Decode(t.Context(), codes, items.N, layout.Positions()); err != nil {
			t.Error(err)
		}
		few, err := r.Assign(t.Context(), z, cells, Options{Levels: 1, Beam: 3})
		if err != nil || len(few) != cells.Len()*layout.Parts {
			t.Errorf("%d codes of one level: %v", len(few), err)
		}
		if _, err := r.LookUp(t.Context(), few, cells, layout.Parts); err != nil {
			t.Error(err)
		}
	})
}

// A grid of any size is cut into tiles without a trace: its codes and vectors are those of a quantizer for that size.
func TestPhasesOfLargerGrids(t *testing.T) {
	phasedCases(t, func(t *testing.T, tok *Tokenizer, set weights.Set, _ dataset.Batch) {
		const side, n = 7, 3
		r, layout := runtime(t, tok, set), tok.Quantizer.Layout()
		c := tok.Spec.Quantizer
		c.Side = side
		whole, err := vq.New(c, tok.Dim())
		if err != nil {
			t.Fatal(err)
		}
		z := sampleRows(n*side*side, tok.Dim(), 4)
		out := onGraph(t, set, z, n*side*side, tok.Dim(), func(v weights.Vars, z *graph.Node) []*graph.Node {
			out := whole.Build(&vq.Context{Vars: v.In(vq.Prefix)}, z)
			return []*graph.Node{graph.ConvertDType(out.Index, z.DType()), out.Hard}
		})
		cells := Cells{N: n, Height: side, Width: side}
		codes, err := r.Assign(t.Context(), z, cells, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !sameCodes(codes, out[0]) {
			t.Fatal("codes differ from those of the whole grid")
		}
		latents, err := r.LookUp(t.Context(), codes, cells, layout.Positions())
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range latents {
			if math.Abs(float64(x-out[1][i])) > 1e-5 {
				t.Fatalf("element %d is %v, want %v", i, x, out[1][i])
			}
		}
		for _, small := range []Cells{{1, 1, 1}, {1, 1, 5}, {2, 9, 2}, {0, 4, 4}} {
			own, err := r.Assign(t.Context(), z[:small.Len()*tok.Dim()], small, Options{})
			if err == nil {
				_, err = r.LookUp(t.Context(), own, small, layout.Positions())
			}
			if err != nil {
				t.Errorf("%+v: %v", small, err)
			}
		}
	})
}

// Usage is by phase and position, and bits are those of a cell.
func TestPhasesAreCountedApart(t *testing.T) {
	tok, set, items := phasedFixture(t, 2, 3, 1, 1)
	r := runtime(t, tok, set)
	codes, err := r.Encode(t.Context(), items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	usage, err := r.NewUsage(Options{})
	if err == nil {
		err = r.Count(usage, codes, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	for p := range 2 {
		want := make([]uint64, 20)
		for i, code := range codes {
			if (i/4+i)%2 == p {
				want[code]++
			}
		}
		if !slices.Equal(usage.Histogram(p), want) {
			t.Errorf("phase %d: %v, want %v", p, usage.Histogram(p), want)
		}
	}
	if got, want := plainBits(usage, 2, 9), math.Log2(20)/9; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g bits per pixel, want %g", got, want)
	}
	if use := newCodeUse(usage); len(use.Utilization.Levels) != 2 {
		t.Errorf("use of %d slots", len(use.Utilization.Levels))
	}
	delete(set, "quantizer/phase1/condition/last/bias")
	books, err := Usable(gradtest.Engine(t), tok, set)
	if err == nil {
		_, err = NewRuntime(gradtest.Engine(t), tok, set, books)
	}
	if err == nil || !strings.Contains(err.Error(), "phase1/condition/last/bias") {
		t.Errorf("a missing variable: %v", err)
	}
}

func TestVectorsHaveNoContext(t *testing.T) {
	q := quantizer(t, "ema", 1)
	q.Transform.Context = 2
	if _, err := New(Spec{Default(), q}, 6); err == nil || !strings.Contains(err.Error(), "only cells of pictures") {
		t.Errorf("vectors: %v", err)
	}
}
