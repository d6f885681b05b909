package eval

import (
	"fmt"
	"math"
)

// The constants of Wang, Bovik, Sheikh and Simoncelli (2004): a Gaussian window, and K1,
// K2 against division by zero.
const (
	SSIMWindow = 11 // also the side of the smallest pictures
	ssimRadius = SSIMWindow / 2
	ssimSigma  = 1.5
	ssimK1     = 0.01
	ssimK2     = 0.03
)

// ssimWeights are the window's weights along one axis by distance from its centre; their
// sum over the window is 1.
var ssimWeights = func() (w [ssimRadius + 1]float64) {
	sum := 0.0
	for i := range w {
		w[i] = math.Exp(-float64(i*i) / (2 * ssimSigma * ssimSigma))
		sum += w[i]
		if i > 0 {
			sum += w[i]
		}
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}()

// ssimMaps is the number of pictures SSIM filters: a, b, a^2 + b^2 (the variances enter as
// a sum only) and a b.
const ssimMaps = 4

// SSIM returns the structural similarity of two pictures (Wang et al., 2004): weighted
// means, population variances and covariance under a Gaussian window, averaged over the
// windows inside the picture and over channels; 1 is identical. It equals scikit-image's
// structural_similarity with gaussian_weights, sigma 1.5 and population covariance. It
// fails on pictures below 11 x 11 and on a number of samples other than the shape's.
func SSIM(a, b []uint8, shape ImageShape) (float64, error) {
	if err := shape.check(); err != nil {
		return 0, err
	}
	if len(a) != shape.Len() || len(b) != shape.Len() {
		return 0, fmt.Errorf("pictures of %d and %d samples are not %d x %d x %d", len(a), len(b), shape.Height, shape.Width, shape.Channels)
	}
	row := shape.Width * shape.Channels
	valid := (shape.Width - 2*ssimRadius) * shape.Channels // samples of a row with a window around them
	wide := newSSIMRows(row)
	var recent [SSIMWindow]ssimRows // the last rows, filtered along the width
	for i := range recent {
		recent[i] = newSSIMRows(valid)
	}
	narrow := newSSIMRows(valid)
	sum := 0.0
	for y := range shape.Height {
		ssimMoments(wide, a[y*row:(y+1)*row], b[y*row:(y+1)*row])
		for m := range ssimMaps {
			var taps [SSIMWindow][]float64
			for i := range taps {
				taps[i] = wide[m][i*shape.Channels:]
			}
			ssimBlur(recent[y%SSIMWindow][m], &taps)
		}
		if y < SSIMWindow-1 {
			continue
		}
		for m := range ssimMaps {
			var taps [SSIMWindow][]float64
			for i := range taps {
				taps[i] = recent[(y+1+i)%SSIMWindow][m]
			}
			ssimBlur(narrow[m], &taps)
		}
		sum += ssimSum(narrow)
	}
	return sum / float64(valid*(shape.Height-2*ssimRadius)), nil
}

// check reports a shape that SSIM's window does not fit.
func (s ImageShape) check() error {
	if s.Height < SSIMWindow || s.Width < SSIMWindow || s.Channels < 1 {
		return fmt.Errorf("SSIM needs pictures of at least %d x %d with a channel, not %d x %d x %d",
			SSIMWindow, SSIMWindow, s.Height, s.Width, s.Channels)
	}
	return nil
}

type ssimRows [ssimMaps][]float64

func newSSIMRows(length int) (rows ssimRows) {
	for m := range rows {
		rows[m] = make([]float64, length)
	}
	return rows
}

// ssimMoments fills the maps of one row of both pictures, scaled to [0, 1].
func ssimMoments(rows ssimRows, a, b []uint8) {
	const scale = 1.0 / peak
	first, second, squares, products := rows[0][:len(a)], rows[1][:len(a)], rows[2][:len(a)], rows[3][:len(a)]
	b = b[:len(a)]
	for i, value := range a {
		x, y := float64(value)*scale, float64(b[i])*scale
		first[i], second[i] = x, y
		squares[i], products[i] = x*x+y*y, x*y
	}
}

// ssimBlur weighs the window's taps, outermost first, into out.
func ssimBlur(out []float64, taps *[SSIMWindow][]float64) {
	n := len(out)
	t0, t1, t2, t3, t4, t5 := taps[0][:n], taps[1][:n], taps[2][:n], taps[3][:n], taps[4][:n], taps[5][:n]
	t6, t7, t8, t9, t10 := taps[6][:n], taps[7][:n], taps[8][:n], taps[9][:n], taps[10][:n]
	w0, w1, w2, w3, w4, w5 := ssimWeights[0], ssimWeights[1], ssimWeights[2], ssimWeights[3], ssimWeights[4], ssimWeights[5]
	for i := range out {
		near := w0*t5[i] + w1*(t4[i]+t6[i]) + w2*(t3[i]+t7[i])
		far := w3*(t2[i]+t8[i]) + w4*(t1[i]+t9[i]) + w5*(t0[i]+t10[i])
		out[i] = near + far
	}
}

func ssimSum(rows ssimRows) float64 {
	const c1, c2 = ssimK1 * ssimK1, ssimK2 * ssimK2 // for samples in [0, 1]
	n := len(rows[0])
	first, second, squares, products := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	sum := 0.0
	for i, x := range first {
		y := second[i]
		means, product := x*x+y*y, x*y
		variances, covariance := squares[i]-means, products[i]-product
		sum += (2*product + c1) * (2*covariance + c2) / ((means + c1) * (variances + c2))
	}
	return sum
}
