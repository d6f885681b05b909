package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/gonum/mat"
)

// CodeMap shows a picture's codes [height, width], row after row, as one pixel
// a code. colours [vocabulary] come from CodebookColours or HashedColours.
func CodeMap(codes []uint32, height, width int, colours []color.RGBA) (*image.RGBA, error) {
	if height < 1 || width < 1 || len(codes) != height*width {
		return nil, fmt.Errorf("%d codes are no map of %d x %d", len(codes), height, width)
	}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i, code := range codes {
		if int64(code) >= int64(len(colours)) {
			return nil, fmt.Errorf("code %d at row %d, column %d has no colour among %d; give the colours of the whole codebook", code, i/width, i%width, len(colours))
		}
		c := colours[code]
		copy(m.Pix[i*4:], []uint8{c.R, c.G, c.B, 255})
	}
	return m, nil
}

// HashedColours gives every code a colour that says nothing but which code it
// is: hues a golden ratio apart, so that those of any few codes differ, in
// three shades.
func HashedColours(vocabulary int) []color.RGBA {
	colours := make([]color.RGBA, vocabulary)
	for i := range colours {
		turns := math.Mod(float64(i)*(math.Sqrt(5)-1)/2, 1)
		colours[i] = hue(0.55+0.15*float64(i%3), 0.14, turns).shown()
	}
	return colours
}

// CodebookColours gives codes that lie close to each other similar colours: the
// first three principal components of the codebook [k, d], row-major, each
// measured in about its standard deviation, become lightness, green to red and
// blue to yellow. It fails on another number of values and on values that are not
// finite.
func CodebookColours(codebook []float32, k, d int) ([]color.RGBA, error) {
	if k < 1 || d < 1 || len(codebook) != k*d {
		return nil, fmt.Errorf("%d values are no codebook of %d codes of %d values", len(codebook), k, d)
	}
	coordinates, err := principalCoordinates(codebook, k, d)
	if err != nil {
		return nil, err
	}
	soft := func(v float64) float64 { return v / math.Sqrt(1.5+v*v) } // outliers keep their side
	colours := make([]color.RGBA, k)
	for i, p := range coordinates {
		colours[i] = oklab{0.63 + 0.27*soft(p[0]), 0.19 * soft(p[1]), 0.19 * soft(p[2])}.shown()
	}
	return colours, nil
}

// principalCoordinates returns where the rows [n, d] lie along their first
// three principal directions, in units of the standard deviation along them or,
// where that is less, a quarter of the first one: what hardly varies is not to
// be blown up. A direction's largest component is positive, so that equal
// codebooks give equal colours.
func principalCoordinates(rows []float32, n, d int) ([][3]float64, error) {
	centred, mean := mat.NewDense(n, d, nil), make([]float64, d)
	for i, v := range rows {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("code %d of the codebook is not finite", i/d)
		}
		mean[i%d] += float64(v) / float64(n)
	}
	for i, v := range rows {
		centred.Set(i/d, i%d, float64(v)-mean[i%d])
	}
	covariance := mat.NewSymDense(d, nil)
	covariance.SymOuterK(1/float64(n), centred.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, fmt.Errorf("the principal directions of %d codes could not be found", n)
	}
	variances := eigen.Values(nil) // ascending
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	coordinates := make([][3]float64, n)
	for axis := range min(3, d) {
		column := d - 1 - axis
		unit := math.Sqrt(max(variances[column], variances[d-1]/16))
		if unit == 0 { // all rows are the same
			break
		}
		direction := mat.Col(nil, column, &directions)
		orient(direction)
		var along mat.VecDense
		along.MulVec(centred, mat.NewVecDense(d, direction))
		for i := range coordinates {
			coordinates[i][axis] = along.AtVec(i) / unit
		}
	}
	return coordinates, nil
}

// orient turns a direction whose largest component is negative.
func orient(direction []float64) {
	largest := 0.0
	for _, v := range direction {
		if math.Abs(v) > math.Abs(largest) {
			largest = v
		}
	}
	if largest < 0 {
		for i := range direction {
			direction[i] = -direction[i]
		}
	}
}
