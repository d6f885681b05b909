package prior

import (
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Hidden lines mirror the ones above, again and again if there are more of them.
func TestHideBelow(t *testing.T) {
	pixels := make([]uint8, 3*7*7)
	for i := range pixels {
		pixels[i] = uint8(i / 21) // the line
	}
	hideBelow(pixels, 7, 2)
	for y, want := range []uint8{0, 1, 1, 0, 0, 1, 1} {
		if line := pixels[21*y : 21*(y+1)]; slices.Min(line) != want || slices.Max(line) != want {
			t.Errorf("line %d shows line %d, want %d", y, line[0], want)
		}
	}
}

// phased is a tokenizer of 10 x 10 cells in phases whose context moves codes far.
func phased(t *testing.T, phases int) *tokenizer.Runtime {
	t.Helper()
	q, err := vq.Defaults("ste")
	if err != nil {
		t.Fatal(err)
	}
	q.Codes, q.Levels, q.Start.From, q.Transform.Context, q.Transform.ContextWidth = 6, 1, "data", phases, 8
	c := tokenizer.Default()
	c.Dim, c.Image = 3, tokenizer.Image{Size: 20, Widths: []int{2, 2}, Blocks: 1, Up: "nearest", Precision: "f32"}
	tok, err := tokenizer.New(tokenizer.Spec{Model: c, Quantizer: q}, c.Image.Input())
	if err != nil {
		t.Fatal(err)
	}
	set, rng := tok.InitNetwork(1, tokenizer.Sample{}), weights.Rand(1, "codes")
	sample := weights.Normal(rng, 1, 4*tok.Tokens(), c.Dim)
	codes, err := tok.Quantizer.Init(vq.Latents{Rows: sample.Data, N: 4 * tok.Tokens(), Dim: c.Dim}, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range codes.Paths() {
		if strings.Contains(path, "/condition/last/") {
			codes[path] = weights.Normal(rng, 0.3, codes[path].Shape...)
		}
	}
	set.Merge(vq.Prefix, codes)
	books, err := tokenizer.Usable(gradtest.Engine(t), tok, set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tokenizer.NewRuntime(gradtest.Engine(t), tok, set, books)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Known cells mean the same whatever the hidden ones hold, and with several phases some
// cells of the upper half are not known.
func TestKnownCells(t *testing.T) {
	const side, half = 10, 5
	for _, phases := range []int{0, 2, 4} {
		r := phased(t, phases)
		known := knownCells(r.Tokenizer().Quantizer, side, half)
		rng := weights.Rand(2, "grid")
		codes := make([]uint32, side*side)
		for i := range codes {
			codes[i] = uint32(rng.IntN(6))
		}
		look := func() []float32 {
			z, err := r.LookUp(t.Context(), codes, tokenizer.Cells{N: 1, Height: side, Width: side}, 1)
			if err != nil {
				t.Fatal(err)
			}
			return z
		}
		before := look()
		moved := make([]bool, side*side) // cells of the upper half that mean something else
		for range 8 {
			for i := range codes {
				if !known[i] {
					codes[i] = uint32(rng.IntN(6))
				}
			}
			after := look()
			for i := range codes {
				same := slices.Equal(before[3*i:3*i+3], after[3*i:3*i+3])
				if known[i] && !same {
					t.Errorf("%d phases: known cell %d,%d depends on hidden ones", phases, i/side, i%side)
				}
				moved[i] = moved[i] || !same
			}
		}
		count := 0
		for i, k := range known {
			if k {
				count++
			}
			if k && i/side >= half || !k && i/side < half && !moved[i] {
				t.Errorf("%d phases: cell %d,%d: known %v, but the hidden cells matter to it: %v", phases, i/side, i%side, k, moved[i])
			}
		}
		// Of two phases, the second is known where no hidden cell is two lines below.
		want := map[int]int{0: 50, 2: 25 + 15}[phases]
		if want > 0 && count != want || count < 25/2 {
			t.Errorf("%d phases: %d cells are known, want %d", phases, count, want)
		}
	}
}
