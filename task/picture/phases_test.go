package picture

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

func inPhases(phases int) func(*vq.Config) {
	return func(c *vq.Config) { c.Transform.Context, c.Transform.ContextWidth = phases, 8 }
}

// Pictures of any size whose cells are coded in phases come back from their files with or without a model of codes, all
// levels or the leading ones, and decode to the reconstruction of the latents that were chosen.
func TestPhasesOfAnySize(t *testing.T) {
	for _, phases := range []int{2, 4} {
		r := untrained(t, 20, []int{8, 8, 8}, 2, 1, inPhases(phases)) // grids of 5 x 5
		model := entropy(t, r, 40)
		if model.Phases() != phases {
			t.Fatalf("a model of %d phases", model.Phases())
		}
		for _, size := range [][2]int{{3, 2}, {20, 20}, {53, 37}} {
			for _, levels := range []int{0, 1} {
				e := Encoder{Runtime: r, Options: tokenizer.Options{Levels: levels}}
				g := encode(t, e, smooth(size[0], size[1]))
				for _, m := range []*codes.Model{nil, model} {
					f := Files{Tokenizer: r.Tokenizer(), Fingerprint: [32]byte{3, 1, 4}, Entropy: m}
					path := filepath.Join(t.TempDir(), "p.gvqi")
					write(t, f, path, g)
					if back, err := f.Read(t.Context(), path); err != nil || !reflect.DeepEqual(back, g) {
						t.Errorf("%d phases, %v, %d levels: another grid came back (%v)", phases, size, levels, err)
					}
				}
				p, err := e.Decode(t.Context(), g)
				if err != nil || p.Width != size[0] || p.Height != size[1] {
					t.Fatalf("%v: %v", size, err)
				}
			}
		}
		// One window is the runtime's own picture.
		p := smooth(20, 20)
		g := encode(t, Encoder{Runtime: r}, p)
		own, err := r.Encode(t.Context(), dataset.PictureBatch(p.Pix, 1), tokenizer.Options{})
		if err != nil || !slices.Equal(own, g.Codes) {
			t.Fatalf("one window has other codes than the runtime (%v)", err)
		}
		batch, err := r.Decode(t.Context(), own, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := (Encoder{Runtime: r}).Decode(t.Context(), g); err != nil || !slices.Equal(q.Pix, batch.Pixels) {
			t.Errorf("one window decodes to another picture than the runtime's (%v)", err)
		}
	}
}

// Scores, bits and drawings know the phases: bits are those of a cell, usage is by slot, a code has a colour in each phase.
func TestPhasesAreEvaluatedAndDrawn(t *testing.T) {
	r := untrained(t, 20, []int{8, 8, 8}, 1, 1, inPhases(2))
	set := scenes(t, 40, 20)
	all := dataset.All(set.Len())
	scores, usage, err := Evaluate(t.Context(), r, set, all, Networks{}, Options{Entropy: entropy(t, r, 40)})
	if err != nil {
		t.Fatal(err)
	}
	want := math.Log2(24) / 16
	if math.Abs(scores.BitsPerPixel-want) > 1e-9 || len(scores.Utilization.Levels) != 2 || len(usage.Vocab()) != 2 {
		t.Errorf("%g bits per pixel, want %g; usage of %d slots", scores.BitsPerPixel, want, len(usage.Vocab()))
	}
	if !(scores.CodedBitsPerPixel < scores.BitsPerPixel) {
		t.Errorf("%g coded bits of %g", scores.CodedBitsPerPixel, scores.BitsPerPixel)
	}
	s, err := Take(t.Context(), r, set, all, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Colours) != 48 {
		t.Errorf("%d colours of 2 x 24 codes", len(s.Colours))
	}
	first := s.first(s.Grids[0])
	for cell, code := range first {
		if later := (cell/5+cell%5)%2 == 1; later != (code >= 24) {
			t.Fatalf("cell %d is drawn as code %d", cell, code)
		}
	}
	if _, err := s.Figures(); err != nil {
		t.Error(err)
	}
}
