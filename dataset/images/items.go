package images

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
)

var _ dataset.Set = (*Set)(nil)

// Input implements dataset.Set.
func (s *Set) Input() int { return 3 * s.options.Size * s.options.Size }

// Read implements dataset.Set with the middle squares of pictures.
func (s *Set) Read(rows []int) (dataset.Batch, []int, error) {
	pixels, err := s.squares(len(rows))
	if err != nil {
		return dataset.Batch{}, nil, err
	}
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
	pixels, err := s.squares(len(rows))
	if err == nil {
		_, err = s.Crops(rows, seed, step, pixels)
	}
	return dataset.PictureBatch(pixels, len(rows)), err
}

// squares is room for n pictures.
func (s *Set) squares(n int) ([]uint8, error) {
	if err := memory.Check(fmt.Sprintf("a batch of %d pictures", n), n, s.Input()); err != nil {
		return nil, err
	}
	return make([]uint8, n*s.Input()), nil
}
