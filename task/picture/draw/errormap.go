package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"sync"
)

// heat is the colour scale of errors: black, violet, red, orange, pale yellow, in even steps of lightness.
var heat = sync.OnceValue(func() []color.RGBA {
	colours := make([]color.RGBA, 256)
	for i := range colours {
		t := float64(i) / 255
		strength := 0.2 * math.Sqrt(math.Sin(math.Pi*min(t*0.93+0.02, 1)))
		light := (16 + 97*t) / 116 // CIE lightness from 0 to 97, in OKLab's terms
		colours[i] = hue(light, strength, 0.80+0.50*t).shown()
	}
	return colours
})

// ErrorMap shows where two pictures of one size differ: the absolute difference of a pixel, averaged over red, green and
// blue, in levels of 255, black for none and pale yellow for full and above. See FullError and ErrorLegend.
func ErrorMap(a, b image.Image, full float64) (*image.RGBA, error) {
	if !(full > 0) {
		return nil, fmt.Errorf("an error map cannot end at %v levels; use a number above 0", full)
	}
	differences, err := differences(a, b)
	if err != nil {
		return nil, err
	}
	m := image.NewRGBA(image.Rect(0, 0, a.Bounds().Dx(), a.Bounds().Dy()))
	colours := heat()
	for i, difference := range differences {
		c := colours[int(min(difference/full, 1)*255+0.5)]
		copy(m.Pix[i*4:], []uint8{c.R, c.G, c.B, 255})
	}
	return m, nil
}

// differences returns the mean absolute difference of every pixel, in levels.
func differences(a, b image.Image) ([]float64, error) {
	if a.Bounds().Size() != b.Bounds().Size() {
		return nil, fmt.Errorf("pictures of %v and %v pixels cannot be compared; give two of the same size", a.Bounds().Size(), b.Bounds().Size())
	}
	p, q := flat(a), flat(b)
	result := make([]float64, len(p.Pix)/4)
	for i := range p.Pix {
		if i%4 != 3 {
			result[i/4] += math.Abs(float64(p.Pix[i])-float64(q.Pix[i])) / 3
		}
	}
	return result, nil
}

// FullError returns an end of the scale for all pairs as[i], bs[i]: a round number that 99 % of the pixels stay below.
func FullError(as, bs []image.Image) (float64, error) {
	if len(as) != len(bs) {
		return 0, fmt.Errorf("%d pictures and %d reconstructions are no pairs", len(as), len(bs))
	}
	var all []float64
	for i := range as {
		pair, err := differences(as[i], bs[i])
		if err != nil {
			return 0, err
		}
		all = append(all, pair...)
	}
	if len(all) == 0 {
		return roundErrors[0], nil
	}
	slices.Sort(all)
	most := all[(len(all)-1)*99/100]
	for _, full := range roundErrors {
		if most <= full {
			return full, nil
		}
	}
	return 255, nil
}

var roundErrors = []float64{4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 255}

// ErrorLegend draws the scale of error maps that end at full.
func ErrorLegend(full float64, width int) *image.RGBA {
	const bar, tick = 10, 4
	label := "mean absolute error, of 255"
	width = max(width, textWidth(label)+textWidth("000")*2)
	m := blank(width, bar+tick+2*lineHeight)
	colours := heat()
	for x := range width {
		c := colours[x*255/max(width-1, 1)]
		fillBox(m, image.Rect(x, 0, x+1, bar), c)
	}
	for i := range 5 {
		at := i * (width - 1) / 4
		fillBox(m, image.Rect(at, bar, at+1, bar+tick), faint)
		number := strconv.FormatFloat(full*float64(i)/4, 'f', -1, 64)
		if i == 4 && full < 255 {
			number += "+"
		}
		left := min(max(at-textWidth(number)/2, 0), width-textWidth(number))
		text(m, left, bar+tick, number, faint)
	}
	text(m, (width-textWidth(label))/2, bar+tick+lineHeight-2, label, faint)
	return m
}
