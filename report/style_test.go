package report

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// linear returns the linear RGB of "#rrggbb".
func linear(t *testing.T, colour string) [3]float64 {
	t.Helper()
	var rgb [3]float64
	for i := range rgb {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			rgb[i] = c / 12.92
		} else {
			rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return rgb
}

// contrast is the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	x, y := luminance(linear(t, a)), luminance(linear(t, b))
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

func TestContrast(t *testing.T) {
	if got := contrast(t, "#000000", "#ffffff"); math.Abs(got-21) > 1e-9 {
		t.Fatalf("black on white has contrast %g, want 21", got)
	}
	for name, c := range map[string]colours{"light": lightColours, "dark": darkColours} {
		for _, background := range []string{c.page, c.surface} {
			for _, text := range []string{c.text, c.muted, c.accent} {
				if got := contrast(t, text, background); got < 4.5 { // WCAG AA for text
					t.Errorf("%s: text %s on %s has contrast %.2f", name, text, background, got)
				}
			}
		}
		for _, s := range c.series {
			if got := contrast(t, s, c.surface); got < 3 { // WCAG AA for graphics
				t.Errorf("%s: series %s has contrast %.2f", name, s, got)
			}
		}
		if got := contrast(t, c.axis, c.surface); got < 3 {
			t.Errorf("%s: axis has contrast %.2f", name, got)
		}
	}
}

// vision maps linear RGB to perceived RGB: Machado, Oliveira and Fernandes
// (2009), "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", table 1, severity 1.
var vision = map[string][3][3]float64{
	"full":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
}

// lab converts linear sRGB to CIE L*a*b* under D65.
func lab(c [3]float64) [3]float64 {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func TestSeriesColoursStayApart(t *testing.T) {
	for scheme, c := range map[string]colours{"light": lightColours, "dark": darkColours} {
		for kind, matrix := range vision {
			see := func(colour string) [3]float64 {
				from := linear(t, colour)
				var to [3]float64
				for i := range to {
					for j := range from {
						to[i] += matrix[i][j] * from[j]
					}
					to[i] = math.Min(1, math.Max(0, to[i]))
				}
				return lab(to)
			}
			for i := range c.series {
				for j := range i {
					a, b := see(c.series[i]), see(c.series[j])
					distance := math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
					if distance < 12 { // about five just noticeable differences
						t.Errorf("%s, %s: %s and %s are %.1f apart", scheme, kind, c.series[i], c.series[j], distance)
					}
				}
			}
		}
	}
	if len(lightColours.series) != len(darkColours.series) {
		t.Error("the schemes have different numbers of colours")
	}
}

func TestStyleUsesOnlyKnownVariables(t *testing.T) {
	known := map[string]bool{}
	for _, v := range lightColours.variables() {
		known[v[0]] = true
	}
	for _, use := range strings.Split(pageStyle, "var(")[1:] {
		if name, _, _ := strings.Cut(use, ")"); !known[name] {
			t.Errorf("style uses %s, which is not defined", name)
		}
	}
	if strings.ContainsAny(hoverScript+pageStyle, "<&") || strings.Contains(hoverScript, "]]>") {
		t.Error("script or style holds characters that XML would read as markup")
	}
	if strings.Contains(pageStyle, "url(") || strings.Contains(pageStyle, "@import") {
		t.Error("the style loads something")
	}
}
