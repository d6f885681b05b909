package codes

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/internal/phase"
)

// phasedGrid has codes of L levels whose neighbours are related within a phase, with another numbering in each.
func phasedGrid(random *rand.Rand, phases, height, width int, vocab []uint32) CodeMap {
	g := CodeMap{Height: height, Width: width}
	base := random.Uint32N(vocab[0])
	for y := range height {
		for x := range width {
			p := uint32(phase.Of(phases, y, x))
			for level, k := range vocab {
				near := (base + uint32(y+x)/3 + random.Uint32N(2) + 7*p + uint32(level)) % k
				g.Codes = append(g.Codes, near)
			}
		}
	}
	return g
}

func trainPhases(t testing.TB, phases int, vocab []uint32) *Model {
	t.Helper()
	random := rand.New(rand.NewPCG(3, uint64(phases)))
	var grids []CodeMap
	for range 60 {
		grids = append(grids, phasedGrid(random, phases, 9, 11, vocab))
	}
	var vectors [][]float32
	for range phases {
		for _, k := range vocab {
			own := make([]float32, 2*k)
			for i := range own {
				own[i] = float32(random.NormFloat64())
			}
			vectors = append(vectors, own)
		}
	}
	m, err := Train(t.Context(), grids, vocab, vectors)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every code belongs to exactly one plane.
func TestPlanesCoverTheGrid(t *testing.T) {
	for _, phases := range []int{1, 2, 4} {
		for _, side := range []int{1, 2, 5} {
			g := CodeMap{Height: side, Width: side + 1, Codes: make([]uint32, 3*side*(side+1))}
			var seen []int
			for _, p := range g.planes(phases) {
				n := len(seen)
				seen = slices.AppendSeq(seen, p.all())
				if len(seen)-n != p.cells() {
					t.Errorf("a plane of %d cells has %d codes", p.cells(), len(seen)-n)
				}
			}
			slices.Sort(seen)
			for i, at := range seen {
				if i != at {
					t.Fatalf("%d phases: code %d is coded twice or never", phases, i)
				}
			}
			if len(seen) != len(g.Codes) {
				t.Errorf("%d phases cover %d of %d codes", phases, len(seen), len(g.Codes))
			}
		}
	}
}

// Pictures of any size, with all or the leading levels, come back, and a model that knows the phases saves bits. The
// model survives storing.
func TestPicturesInPhases(t *testing.T) {
	vocab := []uint32{16, 8}
	for _, phases := range []int{2, 4} {
		m := trainPhases(t, phases, vocab)
		again, err := NewModel(m.Tensors())
		if err != nil || again.sum != m.sum || again.Phases() != phases || !slices.Equal(again.Vocab(), vocab) {
			t.Fatalf("the stored model: %v", err)
		}
		random := rand.New(rand.NewPCG(9, 9))
		for _, size := range [][2]int{{9, 11}, {1, 1}, {1, 7}, {8, 2}, {31, 30}} {
			for levels := 1; levels <= 2; levels++ {
				g := phasedGrid(random, phases, size[0], size[1], vocab[:levels])
				p := Picture{Width: size[1], Height: size[0], Factor: 1, Vocab: vocab[:levels], Codes: g.Codes}
				var file bytes.Buffer
				bits, err := Encode(&file, p, m)
				if err != nil || len(bits.Levels) != phases*levels {
					t.Fatalf("%d levels coded, %v", len(bits.Levels), err)
				}
				if plain := 4*len(g.Codes)/levels + 3*(levels-1)*len(g.Codes)/levels; size[0] > 8 && bits.Payload > plain*2/3 {
					t.Errorf("%d phases, %v: %d bits of %d", phases, size, bits.Payload, plain)
				}
				back, err := Decode(&file, [32]byte{}, again)
				if err != nil || !slices.Equal(back.Codes, p.Codes) {
					t.Fatalf("%d phases, %d x %d cells: %v", phases, size[0], size[1], err)
				}
			}
		}
	}
	if _, err := Train(t.Context(), nil, vocab, make([][]float32, 6)); err == nil {
		t.Error("three phases were accepted")
	}
	tensors := trainPhases(t, 2, vocab).Tensors()
	tensors[0].Data = []byte{3}
	if _, err := NewModel(tensors); err == nil {
		t.Error("a model of three phases was accepted")
	}
}
