package images

import (
	"errors"
	"slices"

	"github.com/gritvq/gritvq/dataset"
)

var _ dataset.Set = (*Set)(nil)

// Input implements dataset.Set.
func (s *Set) Input() int { return 3 * s.options.Size * s.options.Size }

// Read implements dataset.Set with the middle squares of pictures.
func (s *Set) Read(rows []int) (dataset.Batch, []int, error) {
	pixels := make([]uint8, len(rows)*s.Input())
	damaged, err := s.Centre(rows, pixels)
	if _, all := errors.AsType[*Damage](err); all {
		return dataset.Batch{}, nil, nil
	}
	if err != nil || len(damaged) == 0 {
		return dataset.PictureBatch(pixels, len(rows)), rows, err
	}
	good, kept := pixels[:0], make([]int, 0, len(rows))
	for i, row := range rows {
		if !slices.Contains(damaged, i) {
			kept = append(kept, row)
			good = append(good, pixels[i*s.Input():(i+1)*s.Input()]...)
		}
	}
	return dataset.PictureBatch(good, len(kept)), kept, nil
}

// Draw implements dataset.Set with random squares of pictures.
func (s *Set) Draw(rows []int, seed uint64, step int64) (dataset.Batch, error) {
	pixels := make([]uint8, len(rows)*s.Input())
	_, err := s.Crops(rows, seed, step, pixels)
	return dataset.PictureBatch(pixels, len(rows)), err
}
