package draw

import (
	"image/color"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCodeMapColoursEveryCode(t *testing.T) {
	colours := []color.RGBA{red, green, blue}
	m, err := CodeMap([]uint32{0, 1, 2, 2, 1, 0}, 2, 3, colours)
	if err != nil {
		t.Fatal(err)
	}
	for i, code := range []int{0, 1, 2, 2, 1, 0} {
		if got := m.RGBAAt(i%3, i/3); got != colours[code] {
			t.Errorf("place %d is %v, want %v", i, got, colours[code])
		}
	}
	if _, err := CodeMap([]uint32{0, 3}, 1, 2, colours); err == nil || !strings.Contains(err.Error(), "code 3 at row 0, column 1") {
		t.Errorf("a code without colour: %v", err)
	}
	if _, err := CodeMap([]uint32{0}, 1, 2, colours); err == nil {
		t.Error("half a map was drawn")
	}
}

// distance of colours as shown.
func distance(a, b color.RGBA) float64 {
	dr, dg, db := float64(a.R)-float64(b.R), float64(a.G)-float64(b.G), float64(a.B)-float64(b.B)
	return math.Sqrt(dr*dr + dg*dg + db*db)
}

func TestNeighboursInTheCodebookLookAlike(t *testing.T) {
	const clusters, each, d = 8, 20, 16
	random := rand.New(rand.NewPCG(1, 2))
	codebook := make([]float32, 0, clusters*each*d)
	for cluster := range clusters { // the corners of a box in the first three values
		centre := [3]float64{3 * float64(cluster&1), 2 * float64(cluster>>1&1), float64(cluster >> 2)}
		for range each {
			for i := range d {
				v := 0.02 * random.NormFloat64()
				if i < 3 {
					v += centre[i]
				}
				codebook = append(codebook, float32(v))
			}
		}
	}
	colours, err := CodebookColours(codebook, clusters*each, d)
	if err != nil {
		t.Fatal(err)
	}
	within, between := 0.0, math.Inf(1)
	for i, a := range colours {
		for j, b := range colours[:i] {
			if i/each == j/each {
				within = max(within, distance(a, b))
			} else {
				between = min(between, distance(a, b))
			}
		}
	}
	if between < 3*within {
		t.Errorf("colours up to %.0f apart within a cluster, from %.0f between clusters", within, between)
	}
}

func TestSmallAndConstantCodebooksHaveColours(t *testing.T) {
	for name, c := range map[string]struct {
		codebook []float32
		k, d     int
	}{"one value": {[]float32{1, 2, 3, 4}, 4, 1}, "one code": {[]float32{1, 2}, 1, 2}, "constant": {[]float32{5, 5, 5, 5}, 2, 2}} {
		colours, err := CodebookColours(c.codebook, c.k, c.d)
		if err != nil || len(colours) != c.k {
			t.Errorf("%s: %v, %v", name, colours, err)
		}
		for _, colour := range colours {
			if colour.A != 255 {
				t.Errorf("%s: %v is transparent", name, colour)
			}
		}
	}
	if _, err := CodebookColours([]float32{1, 2, 3, float32(math.NaN())}, 2, 2); err == nil || !strings.Contains(err.Error(), "finite") {
		t.Errorf("NaN: %v", err)
	}
	if _, err := CodebookColours([]float32{1, 2, 3}, 2, 2); err == nil {
		t.Error("three values were taken for two codes of two")
	}
}

func TestHashedColoursOfNeighboursDiffer(t *testing.T) {
	colours := HashedColours(1000)
	for i := range colours[:992] {
		for j := i + 1; j < i+8; j++ {
			if d := distance(colours[i], colours[j]); d < 30 {
				t.Fatalf("codes %d and %d are %.0f apart", i, j, d)
			}
		}
	}
}
