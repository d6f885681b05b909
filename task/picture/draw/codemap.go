package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/gritvq/gritvq/eval"
)

// CodeMap draws the codes [height, width] of a picture, one pixel a code. colours [vocabulary] come from CodebookColours or HashedColours.
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

// HashedColours gives every code a colour without meaning: hues a golden ratio
// apart, so that those of any few codes differ, in three shades.
func HashedColours(vocabulary int) []color.RGBA {
	colours := make([]color.RGBA, vocabulary)
	for i := range colours {
		turns := math.Mod(float64(i)*(math.Sqrt(5)-1)/2, 1)
		colours[i] = hue(0.55+0.15*float64(i%3), 0.14, turns).shown()
	}
	return colours
}

// CodebookColours gives codes that lie close to each other similar colours: the
// first three principal components of the codebook [k, d], row-major, become
// lightness, green to red and blue to yellow. A component is measured in its
// standard deviation or, if that is larger, a quarter of the first one's, so that
// noise does not look like structure. It fails on another number of values and
// on values that are not finite.
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
