package draw

import (
	"image/color"
	"math"
)

// oklab is a colour in Ottosson's OKLab space (2020), in which equal distances
// look about equally different: lightness 0 to 1, green to red, blue to yellow.
type oklab struct{ light, a, b float64 }

// linear returns red, green and blue in proportion to light; values outside
// 0..1 cannot be shown.
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

// shown returns the colour as a screen shows it. Where that is impossible the
// colour is made paler until it is possible: lightness and hue are kept.
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

// hue returns a colour by its angle in turns.
func hue(light, strength, turns float64) oklab {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return oklab{light, strength * cos, strength * sin}
}
