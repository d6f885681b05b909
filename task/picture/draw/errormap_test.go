package draw

import (
	"image"
	"image/color"
	"math"
	"strings"
	"testing"
)

// uniform is a picture of one colour.
func uniform(width, height int, c color.Color) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	fillBox(m, m.Rect, c)
	return m
}

// lightness is CIE L* of an sRGB colour, 0 to 100.
func lightness(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		if x := float64(v) / 255; x > 0.04045 {
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	y := 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	if y <= 216.0/24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}

func TestHeatGrowsEvenlyLighter(t *testing.T) {
	colours := heat()
	if first, last := lightness(colours[0]), lightness(colours[255]); first > 3 || last < 94 {
		t.Errorf("lightness from %.1f to %.1f", first, last)
	}
	const stride = 15
	for i := stride; i < 256; i += stride { // 95 in 17 steps: 5.6 each
		if step := lightness(colours[i]) - lightness(colours[i-stride]); step < 2 || step > 9 {
			t.Errorf("lightness grows by %.1f up to %d", step, i)
		}
	}
	for i := 1; i < 256; i++ {
		if lightness(colours[i]) < lightness(colours[i-1])-0.3 { // a level of rounding
			t.Errorf("colour %d is darker than the one before", i)
		}
	}
}

// The coordinates of red, green and blue are those published with the space.
func TestOKLabOfPrimaries(t *testing.T) {
	for c, want := range map[oklab]color.RGBA{
		{1, 0, 0}:                         {R: 255, G: 255, B: 255, A: 255},
		{0, 0, 0}:                         {A: 255},
		{0.627955, 0.224863, 0.125846}:    {R: 255, A: 255},
		{0.866440, -0.233888, 0.179498}:   {G: 255, A: 255},
		{0.452014, -0.032457, -0.311528}:  {B: 255, A: 255},
		{0.599871, 0, 0}:                  {R: 128, G: 128, B: 128, A: 255},
		{0.627955, 0.2248630 * 2, 0.2517}: {R: 255, A: 255}, // beyond what a screen can show: the same hue, paler
	} {
		if got := c.shown(); max(absolute(got.R, want.R), absolute(got.G, want.G), absolute(got.B, want.B)) > 1 {
			t.Errorf("%v is shown as %v, want %v", c, got, want)
		}
	}
}

func absolute(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }

func TestErrorMapShowsMeanAbsoluteDifferences(t *testing.T) {
	a := uniform(4, 1, color.RGBA{R: 100, G: 100, B: 100, A: 255})
	b := uniform(4, 1, color.RGBA{R: 100, G: 100, B: 100, A: 255})
	b.SetRGBA(1, 0, color.RGBA{R: 130, G: 70, B: 100, A: 255})  // (30+30+0)/3 = 20
	b.SetRGBA(2, 0, color.RGBA{R: 140, G: 140, B: 140, A: 255}) // 40, the end
	b.SetRGBA(3, 0, color.RGBA{R: 250, G: 250, B: 250, A: 255}) // beyond
	m, err := ErrorMap(a, b.SubImage(b.Rect), 40)
	if err != nil {
		t.Fatal(err)
	}
	for x, level := range []int{0, 128, 255, 255} {
		if got, want := m.RGBAAt(x, 0), heat()[level]; got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
	for reason, call := range map[string]func() error{
		"cannot be compared": func() error { _, err := ErrorMap(a, uniform(1, 4, color.White), 40); return err },
		"cannot end at 0":    func() error { _, err := ErrorMap(a, b, 0); return err },
		"cannot end at NaN":  func() error { _, err := ErrorMap(a, b, math.NaN()); return err },
		"are no pairs":       func() error { _, err := FullError([]image.Image{a}, nil); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error %v, want one with %q", err, reason)
		}
	}
}

func TestFullErrorLeavesOutOnePercent(t *testing.T) {
	a := uniform(200, 1, color.Black)
	b := uniform(200, 1, color.Black)
	for x := range 200 { // differences of 0, 0.1, ... rounded down: 19 at most
		v := uint8(x / 10)
		b.SetRGBA(x, 0, color.RGBA{R: v, G: v, B: v, A: 255})
	}
	b.SetRGBA(0, 0, color.RGBA{R: 255, G: 255, B: 255, A: 255}) // one of 200 does not count
	if full, err := FullError([]image.Image{a}, []image.Image{b}); err != nil || full != 24 {
		t.Errorf("full error %v, %v, want 24, the round number above 19", full, err)
	}
	if full, err := FullError([]image.Image{a}, []image.Image{a}); err != nil || full != 4 {
		t.Errorf("full error of equal pictures %v, %v, want the least, 4", full, err)
	}
	if full, _ := FullError([]image.Image{a}, []image.Image{uniform(200, 1, color.White)}); full != 255 {
		t.Errorf("full error of opposites %v, want 255", full)
	}
}

func TestLegendGoesFromBlackToYellow(t *testing.T) {
	m := ErrorLegend(64, 400)
	if m.Rect.Dx() != 400 {
		t.Errorf("%d pixels wide, want 400", m.Rect.Dx())
	}
	for x, level := range map[int]int{0: 0, 399: 255} {
		if got := m.RGBAAt(x, 5); got != heat()[level] {
			t.Errorf("the bar at %d is %v, want %v", x, got, heat()[level])
		}
	}
	written := 0
	for x := range 400 {
		for y := 16; y < m.Rect.Dy(); y++ {
			if m.RGBAAt(x, y) != paper {
				written++
			}
		}
	}
	if written < 300 {
		t.Errorf("only %d pixels of text", written)
	}
}
