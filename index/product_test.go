package index

import (
	"slices"
	"strings"
	"testing"
)

func TestProductIsPartwiseResidual(t *testing.T) {
	const n = 50
	parts := []*Residual{
		newResidual(t, bestKernel, 1, 3, 16, 8),
		newResidual(t, bestKernel, 2, 5, 10, 12, 4),
		newResidual(t, bestKernel, 3, 1, 7, 7),
	}
	p, err := NewProduct(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if p.d != 9 || len(p.parts) != 3 || p.Width(0) != 7 || p.Width(2) != 6 {
		t.Fatalf("dim %d, parts %d, width %d and %d", p.d, len(p.parts), p.Width(0), p.Width(2))
	}
	x := normals(6, n*9)
	for _, beam := range []int{1, 4} {
		for _, levels := range []int{0, 2} {
			width := p.Width(levels)
			codes, decoded := make([]uint32, n*width), make([]float32, n*9)
			p.Encode(x, n, levels, beam, codes, 2)
			if err := p.Decode(codes, n, levels, decoded); err != nil {
				t.Fatal(err)
			}
			column, place := 0, 0
			for i, part := range p.parts {
				used := part.usedLevels(levels)
				for r := range n {
					slice := x[r*9+column:][:part.d]
					want, vector := make([]uint32, used), make([]float32, part.d)
					part.Encode(slice, 1, levels, beam, want, 1)
					if err := part.Decode(want, 1, levels, vector); err != nil {
						t.Fatal(err)
					}
					if got := codes[r*width+place:][:used]; !slices.Equal(got, want) {
						t.Fatalf("beam %d, row %d, part %d: codes %v, want %v", beam, r, i, got, want)
					}
					if got := decoded[r*9+column:][:part.d]; !slices.Equal(got, vector) {
						t.Fatalf("beam %d, row %d, part %d: decoded %v, want %v", beam, r, i, got, vector)
					}
				}
				column, place = column+part.d, place+used
			}
		}
	}
}

func TestProductErrors(t *testing.T) {
	if _, err := NewProduct(); err == nil {
		t.Error("a product without parts was accepted")
	}
	part := newResidual(t, bestKernel, 1, 2, 3)
	if _, err := NewProduct(part, nil); err == nil || !strings.Contains(err.Error(), "part 1") {
		t.Errorf("missing part: %v", err)
	}
	p, err := NewProduct(part, part)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Decode([]uint32{0, 3}, 1, 0, make([]float32, 4)); err == nil || !strings.Contains(err.Error(), "part 1: row 0: code 3") {
		t.Errorf("code outside the codebook: %v", err)
	}
}
