package eval

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/internal/parallel"
)

const (
	// peak is the largest sample of a pixel.
	peak = 255
	// leastError bounds the mean squared error of a picture from below: half a step of 8-bit samples. PSNR is then at most
	// 54.15 dB. A bound for exact pictures alone would rank them below pictures that are nearly exact.
	leastError = 0.25
)

// ImageShape is the size of pictures stored row by row, channels last.
type ImageShape struct{ Height, Width, Channels int }

// Len is the number of samples of one picture.
func (s ImageShape) Len() int { return s.Height * s.Width * s.Channels }

// PSNR returns the peak signal-to-noise ratio of two pictures in decibels,
// 10 log10(255^2 / mean squared error). The error counts as 0.25 at least, so that the
// ratio of equal pictures is 54.15 dB. It fails without samples and on pictures of
// different length.
func PSNR(a, b []uint8) (float64, error) {
	if len(a) != len(b) || len(a) == 0 {
		return 0, fmt.Errorf("a picture of %d samples cannot be compared with one of %d: give both the same size, at least one", len(a), len(b))
	}
	sum := 0.0
	for i, value := range a {
		difference := float64(value) - float64(b[i])
		sum += difference * difference
	}
	return 10 * math.Log10(peak*peak/max(sum/float64(len(a)), leastError)), nil
}

// ImageScores accumulates how close reconstructed pictures are to their
// originals. The zero value is ready to use.
type ImageScores struct {
	images   int
	decibels float64 // sum of PSNR
	ssim     float64 // sum
}

// Add scores a batch of pictures x and their reconstructions xhat, both
// [n, height, width, channels]. It fails, and counts nothing, on a part of a picture, on
// batches of different length and on pictures below SSIM's window of 11 x 11.
func (s *ImageScores) Add(x, xhat []uint8, shape ImageShape) error {
	if err := shape.check(); err != nil {
		return err
	}
	size := shape.Len()
	if len(x) != len(xhat) || len(x)%size != 0 {
		return fmt.Errorf("%d samples and their reconstruction of %d are not whole pictures of %d x %d x %d",
			len(x), len(xhat), shape.Height, shape.Width, shape.Channels)
	}
	// Pictures are summed in their order: sums do not depend on the number of cores.
	n := len(x) / size
	decibels, similarity := make([]float64, n), make([]float64, n)
	err := parallel.Each(n, 0, func(i int) (err error) {
		a, b := x[i*size:(i+1)*size], xhat[i*size:(i+1)*size]
		if decibels[i], err = PSNR(a, b); err == nil {
			similarity[i], err = SSIM(a, b, shape)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range n {
		s.images++
		s.ssim += similarity[i]
		s.decibels += decibels[i]
	}
	return nil
}

// PSNR returns the mean over pictures of each picture's own PSNR, as papers on image
// tokenizers report it; the PSNR of the pooled error would be lower. It is NaN without
// pictures.
func (s *ImageScores) PSNR() float64 { return s.decibels / float64(s.images) }

// SSIM returns the mean over pictures; NaN without pictures.
func (s *ImageScores) SSIM() float64 { return s.ssim / float64(s.images) }
