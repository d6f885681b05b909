package images

import (
	"bytes"
	"math"
	"math/cmplx"
	"os"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

func TestScenesAreDifferentAndRepeatable(t *testing.T) {
	seen := map[string]int{}
	for i := range 200 {
		p := drawScene(1, i, 12)
		if other, ok := seen[string(p.Pix)]; ok {
			t.Fatalf("pictures %d and %d are the same", other, i)
		}
		seen[string(p.Pix)] = i
		if !bytes.Equal(drawScene(1, i, 12).Pix, p.Pix) {
			t.Fatalf("picture %d differs when drawn again", i)
		}
	}
	if bytes.Equal(drawScene(2, 0, 12).Pix, drawScene(1, 0, 12).Pix) {
		t.Fatal("another seed draws the same picture")
	}
}

// The sheet shows the pictures to a reviewer: a change must be deliberate and
// increase scenesVersion.
func TestScenesLookAsTheyDid(t *testing.T) {
	const across, size = 4, 32
	sheet := NewRGB(across*size, across*size)
	for i := range across * across {
		p := drawScene(1, i, size)
		for y := range size {
			copy(sheet.Pix[((i/across*size+y)*sheet.Width+i%across*size)*3:], p.Pix[y*size*3:(y+1)*size*3])
		}
	}
	stored, err := os.ReadFile("testdata/scenes.png")
	if err != nil {
		t.Fatal(err)
	}
	if most, _ := difference(t, sheet, mustDecode(t, stored)); most > 1 { // a fused multiply-add may round a level
		t.Fatalf("pixels differ by up to %d levels", most)
	}
}

func TestAnotherSizeShowsTheSamePicture(t *testing.T) {
	for i := range 30 {
		_, mean := difference(t, resize(drawScene(1, i, 128), 32, 32), drawScene(1, i, 32))
		_, other := difference(t, resize(drawScene(1, i+1, 128), 32, 32), drawScene(1, i, 32))
		if mean > 12 || mean > other/2 {
			t.Errorf("picture %d: %.1f levels apart from itself, %.1f from the next", i, mean, other)
		}
	}
}

// The amplitude spectrum of natural pictures falls about as 1/f (Field 1987):
// power as f^-2, between -1.5 and -3 for most kinds of scenes.
func TestScenesHaveTheSpectrumOfPhotographs(t *testing.T) {
	const size, count = 64, 60
	power := make([]float64, size/2)
	for i := range count {
		p := drawScene(4, i, size)
		rows := make([][]complex128, size)
		transform := fourier.NewCmplxFFT(size)
		for y := range rows {
			rows[y] = make([]complex128, size)
			for x := range size {
				at := p.Pix[(y*size+x)*3:]
				window := (1 - math.Cos(2*math.Pi*float64(x)/size)) * (1 - math.Cos(2*math.Pi*float64(y)/size))
				rows[y][x] = complex((0.3*float64(at[0])+0.59*float64(at[1])+0.11*float64(at[2])-110)*window, 0)
			}
			transform.Coefficients(rows[y], rows[y])
		}
		column := make([]complex128, size)
		for x := range size {
			for y := range size {
				column[y] = rows[y][x]
			}
			transform.Coefficients(column, column)
			for y, v := range column {
				fx, fy := float64(min(x, size-x)), float64(min(y, size-y))
				if f := int(math.Round(math.Hypot(fx, fy))); f < size/2 {
					power[f] += real(v*cmplx.Conj(v)) / max(1, float64(f)) // mean over the circle
				}
			}
		}
	}
	var frequencies, strengths []float64
	for f := 2; f <= size/4; f++ {
		frequencies, strengths = append(frequencies, math.Log(float64(f))), append(strengths, math.Log(power[f]))
	}
	if _, slope := stat.LinearRegression(frequencies, strengths, nil, false); slope > -1.5 || slope < -3 {
		t.Fatalf("power falls as f^%.2f", slope)
	} else {
		t.Logf("power falls as f^%.2f", slope)
	}
}

func TestScenesUseTheWholeRangeOfLight(t *testing.T) {
	var counts [8]int
	total := 0
	for i := range 100 {
		for _, v := range drawScene(2, i, 24).Pix {
			counts[v/32]++
			total++
		}
	}
	for octave, count := range counts {
		if share := float64(count) / float64(total); share < 0.02 || share > 0.35 {
			t.Errorf("%.1f %% of values lie in %d..%d", 100*share, octave*32, octave*32+31)
		}
	}
}

func BenchmarkScene64(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		drawScene(1, i, 64)
	}
}
