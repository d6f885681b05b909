package images

import (
	"fmt"
	"math"
	"testing"
)

// resizeReference sums over all pixels of a row, then of a column, in float64;
// in between values are bytes.
func resizeReference(p *RGB, width, height int) []float64 {
	kernel := func(x float64) float64 { // Keys 1981, a = -1/2
		const a = -0.5
		switch x = math.Abs(x); {
		case x <= 1:
			return (a+2)*x*x*x - (a+3)*x*x + 1
		case x < 2:
			return a*x*x*x - 5*a*x*x + 8*a*x - 4*a
		}
		return 0
	}
	weight := func(in, out, i, o int) float64 {
		scale := float64(in) / float64(out)
		at := func(i int) float64 {
			return kernel((float64(i) + 0.5 - (float64(o)+0.5)*scale) / max(scale, 1))
		}
		sum := 0.0
		for j := range in {
			sum += at(j)
		}
		return at(i) / sum
	}
	rows := make([]float64, width*p.Height*3)
	for i := range rows {
		for x := range p.Width {
			rows[i] += weight(p.Width, width, x, i/3%width) * float64(p.Pix[(i/3/width*p.Width+x)*3+i%3])
		}
		rows[i] = math.Round(min(max(rows[i], 0), 255))
	}
	result := make([]float64, width*height*3)
	for i := range result {
		for y := range p.Height {
			result[i] += weight(p.Height, height, y, i/3/width) * rows[(y*width+i/3%width)*3+i%3]
		}
	}
	return result
}

func TestResizingAgreesWithThePlainSum(t *testing.T) {
	p := drawScene(1, 2, 24).middle(24, 19)
	for _, size := range [][2]int{{17, 13}, {24, 11}, {31, 29}, {24, 36}, {1, 1}} {
		got, want := resize(p, size[0], size[1]), resizeReference(p, size[0], size[1])
		for i, v := range got.Pix {
			// Half a level of rounding, and the last bits of the weights.
			if d := math.Abs(float64(v) - min(max(want[i], 0), 255)); d > 0.51 {
				t.Fatalf("%v: value %d is %d, want %.2f", size, i, v, want[i])
			}
		}
	}
}

func TestAConstantPictureStaysConstant(t *testing.T) {
	p := NewRGB(50, 31)
	for i := range p.Pix {
		p.Pix[i] = []uint8{255, 0, 131}[i%3]
	}
	for _, size := range [][2]int{{7, 9}, {123, 200}} {
		for i, v := range resize(p, size[0], size[1]).Pix {
			if want := []uint8{255, 0, 131}[i%3]; v != want {
				t.Fatalf("%v: value %d is %d, want %d", size, i, v, want)
			}
		}
	}
}

func TestShortSidesAreBroughtToSize(t *testing.T) {
	for _, c := range []struct{ width, height, wantWidth, wantHeight int }{
		{800, 600, 95, 71},   // 71 = round(64*286/256) and a bit: reduced
		{71, 90, 71, 90},     // not above Short: as it is
		{64, 64, 64, 64},     // exactly Size
		{65, 200, 65, 200},   // between Size and Short
		{32, 48, 64, 96},     // enlarged to Size
		{1, 1, 64, 64},       // enlarged
		{3000, 100, 568, 71}, // of a strip the middle, 8 times as long as wide
		{2, 500, 64, 512},
	} {
		p := prepare(NewRGB(c.width, c.height), 64, 71)
		if p.Width != c.wantWidth || p.Height != c.wantHeight {
			t.Errorf("%d x %d becomes %d x %d, want %d x %d", c.width, c.height, p.Width, p.Height, c.wantWidth, c.wantHeight)
		}
	}
}

func BenchmarkResize(b *testing.B) {
	for _, c := range []struct{ side, size int }{{128, 64}, {512, 256}} {
		b.Run(fmt.Sprintf("%dTo%d", c.side, c.size), func(b *testing.B) {
			p := drawScene(1, 0, c.side)
			for b.Loop() {
				prepare(p, c.size, c.size)
			}
		})
	}
}
