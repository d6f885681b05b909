package vq

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
)

// kinds are all transforms, with the row normalisations that fit them.
var kinds = []transform.Kind{
	transform.KindIdentity, transform.KindLinear, transform.KindLowRank, transform.KindFull, transform.KindGrouped,
	transform.KindAttention, transform.KindAttentionTopK, transform.KindAttentionLowRank,
}

// What training feeds the decoder is the hard code, and looking the indices up
// gives the same numbers, bit for bit.
func TestLookupIsTheHardOutput(t *testing.T) {
	for _, kind := range kinds {
		for _, norm := range []string{transform.RowNormNone, transform.RowNormGain} {
			for _, parts := range []int{1, 2} {
				c := small(t, "grit", 3)
				c.Transform.Kind, c.Transform.RowNorm, c.Parts = kind, norm, parts
				f := newFixture(t, c, 5, 17)
				got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
					out := f.q.Build(ctx, z)
					return []*graph.Node{out.Hard, out.Soft, Lookup(f.q, ctx, out.Index)}
				})
				sameBits(t, string(kind)+" soft", got[1], got[0])
				sameBits(t, string(kind)+" lookup", got[2], got[0])
			}
		}
	}
}

// Level l takes the code nearest to the residual of the levels before it.
func TestResidualLevelsCodeTheRemainder(t *testing.T) {
	c := small(t, "grit", 3)
	f := newFixture(t, c, 3, 20)
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		out := f.q.Build(ctx, z)
		return append([]*graph.Node{out.Index, out.Hard, out.Stats["gap"]}, out.Residuals...)
	})
	in, gap := f.inputs(), 0.0
	for i := range 20 {
		rest := append([]float64(nil), f.z.Data[i*3:(i+1)*3]...)
		for l, level := range []string{"level0", "level1", "level2"} {
			residual := got[3+l][i*3 : (i+1)*3]
			gradtest.Close(t, "residual", residual, rest, 1e-5)
			codes := linearCodes(in, level)
			want := nearest(rest, codes)
			if int(got[0][i*3+l]) != want {
				t.Errorf("row %d level %d: code %v, want %d", i, l, got[0][i*3+l], want)
			}
			for j := range rest {
				rest[j] -= codes.row(want)[j]
			}
		}
		gap += distance(rest, make([]float64, 3)) / 20
	}
	gradtest.Close(t, "gap", got[2], []float64{gap}, 1e-5)
}

// Codes chosen outside the graph are used as they are, also where others are nearer.
func TestGivenCodesAreUsed(t *testing.T) {
	for _, parts := range []int{1, 2} {
		c := small(t, "grit", 2)
		c.Parts = parts
		f := newFixture(t, c, 4, 9)
		got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			own := f.q.Build(ctx, z)
			again := *ctx
			again.Given = own.Index
			repeated := f.q.Build(&again, z)
			again.Given = graph.ZerosLike(own.Index)
			zeros := f.q.Build(&again, z)
			return []*graph.Node{own.Hard, repeated.Hard, zeros.Index, zeros.Hard, Lookup(f.q, ctx, zeros.Index), own.Index}
		})
		sameBits(t, "own codes given", got[1], got[0])
		sameBits(t, "code 0", got[2], make([]float64, len(got[2])))
		sameBits(t, "vector of code 0", got[3], got[4])
		if slices.Max(got[5]) == 0 {
			t.Fatal("all nearest codes are 0: the test shows nothing")
		}
	}
}

// A dropped level adds nothing: not to the output, not to the losses, not to
// the running averages.
func TestDropoutDropsLevelsExactly(t *testing.T) {
	full := small(t, "ema", 3)
	full.Loss.Codebook = 0.7
	f := newFixture(t, full, 3, 12)
	short := full
	short.Levels = 2
	two, err := New(short, 3)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		ctx.Active = graph.Const(z.Graph(), []float32{1, 1, 0})
		out := f.q.Build(ctx, z)
		ctx.Active = nil
		want := two.Build(ctx, z)
		nodes := []*graph.Node{out.Hard, want.Hard, out.Soft, want.Soft, out.Loss, want.Loss}
		for _, name := range []string{"state/counts", "state/sums", "codes"} {
			for _, level := range []string{"level0", "level1"} {
				paths = append(paths, level+"/"+name)
				nodes = append(nodes, out.Updates[level+"/"+name], want.Updates[level+"/"+name])
			}
			paths = append(paths, "level2/"+name)
			nodes = append(nodes, out.Updates["level2/"+name], ctx.Vars.Get("level2/"+name))
		}
		return nodes
	})
	sameBits(t, "hard", got[0], got[1])
	sameBits(t, "soft", got[2], got[3])
	sameBits(t, "loss", got[4], got[5])
	for i, path := range paths {
		values, want := got[6+2*i], got[7+2*i]
		if path[:6] == "level2" {
			sameBits(t, path, values, want)
		} else {
			gradtest.Close(t, path, values, want, 1e-6)
		}
	}
}

// A shared codebook receives the sum of the gradients of separate codebooks.
func TestSharedCodebookSumsGradients(t *testing.T) {
	c := small(t, "grit", 3)
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
	c.Shared = true
	shared := newFixture(t, c, 3, 10)
	c.Shared = false
	separate := newFixture(t, c, 3, 10)
	separate.z = shared.z
	for p := range separate.set { // the same book at every level
		separate.set[p] = shared.set["level0"+p[len("level0"):]]
	}
	weight := random(newRand(9), 10, 3)
	got, parts := gradients(t, shared, weight, 1), gradients(t, separate, weight, 1)
	for _, name := range []string{"codes", "mixer/a", "mixer/b", "feature/w"} {
		sum := make([]float64, len(got["level0/"+name]))
		for _, level := range []string{"level0/", "level1/", "level2/"} {
			for i, x := range parts[level+name] {
				sum[i] += x
			}
		}
		gradtest.Close(t, name, got["level0/"+name], sum, 1e-9)
	}
	gradtest.Close(t, "z", got["z"], parts["z"], 1e-9)
	if n := len(shared.set.Sub("level1")); n != 0 {
		t.Errorf("a shared codebook has %d variables at level 1", n)
	}
}

func TestLayout(t *testing.T) {
	c := small(t, "ste", 3)
	c.Parts = 2
	q, err := New(c, 5)
	if err != nil {
		t.Fatal(err)
	}
	l := q.Layout()
	if l.Dim != 5 || l.Parts != 2 || l.Levels != 3 || l.Positions() != 6 || len(l.Vocab) != 6 {
		t.Errorf("layout %+v", l)
	}
	l.Vocab = []int{1, 2, 3, 4, 5, 6}
	for levels, want := range map[int][]int{0: {1, 2, 3, 4, 5, 6}, 1: {1, 4}, 2: {1, 2, 4, 5}, 3: {1, 2, 3, 4, 5, 6}} {
		if got := l.VocabOf(levels); !equalInts(got, want) {
			t.Errorf("%d levels: vocabulary %v, want %v", levels, got, want)
		}
	}
	covered := 0
	for part := range l.Parts {
		start, end := l.Bounds(part)
		if start != covered || end <= start {
			t.Errorf("part %d covers [%d,%d) after %d", part, start, end, covered)
		}
		covered = end
	}
	if covered != 5 {
		t.Errorf("parts cover %d of 5 dimensions", covered)
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
