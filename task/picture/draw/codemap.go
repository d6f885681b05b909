package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/gritvq/gritvq/eval"
)

// CodeMap draws the codes [height, width] of a picture, one pixel a code, in colours [vocabulary].
func CodeMap(codes []uint32, height, width int, colours []color.RGBA) (*image.RGBA, error) {
	if height < 1 || width < 1 || len(codes) != height*width {
		return nil, fmt.Errorf("%d codes are no map of %d x %d", len(codes), height, width)
	}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i, code := range codes {
		if int64(code) >= int64(len(colours)) {
			return nil, fmt.Errorf("code %d at row %d, column %d has no colour among %d; give the colours of the whole codebook",
				code, i/width, i%width, len(colours))
		}
		c := colours[code]
		copy(m.Pix[i*4:], []uint8{c.R, c.G, c.B, 255})
	}
	return m, nil
}

// HashedColours gives every code a colour without meaning: hues a golden ratio apart, in three shades.
func HashedColours(vocabulary int) []color.RGBA {
	colours := make([]color.RGBA, vocabulary)
	for i := range colours {
		turns := math.Mod(float64(i)*(math.Sqrt(5)-1)/2, 1)
		colours[i] = hue(0.55+0.15*float64(i%3), 0.14, turns).shown()
	}
	return colours
}

// CodebookColours gives similar codes similar colours: the first three principal components of the codebook [k, d] become
// lightness, green to red and blue to yellow. A component is measured in its standard deviation or, if larger, a quarter
// of the first one's, so that noise does not look like structure.
func CodebookColours(codebook []float32, k, d int) ([]color.RGBA, error) {
	pca, err := eval.FitPCA(codebook, k, d)
	if err != nil {
		return nil, fmt.Errorf("colours of %d codes of %d values: %w", k, d, err)
	}
	coordinates, err := pca.Project(codebook)
	if err != nil {
		return nil, err
	}
	colours := make([]color.RGBA, k)
	for i, p := range coordinates {
		var soft [3]float64 // outliers keep their side
		for axis, v := range p {
			if unit := max(pca.Deviations[axis], pca.Deviations[0]/4); unit > 0 {
				v /= unit
				soft[axis] = v / math.Sqrt(1.5+v*v)
			}
		}
		colours[i] = oklab{0.63 + 0.27*soft[0], 0.19 * soft[1], 0.19 * soft[2]}.shown()
	}
	return colours, nil
}

// oklab is a colour of Ottosson's OKLab (2020): lightness 0 to 1, green to red, blue to yellow.
type oklab struct{ light, a, b float64 }

// linear returns red, green and blue in proportion to light; outside 0..1 they cannot be shown.
func (c oklab) linear() [3]float64 {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(c.light + 0.3963377774*c.a + 0.2158037573*c.b)
	m := cube(c.light - 0.1055613458*c.a - 0.0638541728*c.b)
	s := cube(c.light - 0.0894841775*c.a - 1.2914855480*c.b)
	return [3]float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s,
	}
}

// shown returns the colour for a screen, made paler where necessary: lightness and hue are kept.
func (c oklab) shown() color.RGBA {
	possible := func(k float64) bool {
		for _, v := range (oklab{c.light, c.a * k, c.b * k}).linear() {
			if v < -1e-6 || v > 1+1e-6 {
				return false
			}
		}
		return true
	}
	strength := 1.0
	if !possible(strength) {
		low, high := 0.0, 1.0
		for range 20 {
			if strength = (low + high) / 2; possible(strength) {
				low = strength
			} else {
				high = strength
			}
		}
		strength = low
	}
	rgb := oklab{c.light, c.a * strength, c.b * strength}.linear()
	return color.RGBA{R: gamma(rgb[0]), G: gamma(rgb[1]), B: gamma(rgb[2]), A: 255}
}

// gamma encodes an amount of light for sRGB screens.
func gamma(v float64) uint8 {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}

func hue(light, strength, turns float64) oklab {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return oklab{light, strength * cos, strength * sin}
}
