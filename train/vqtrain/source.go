package vqtrain

import (
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/feature"
)

// Source is the data of a run.
type Source struct {
	Set     dataset.Set
	HeldSet dataset.Set // Set unless a held-out file was given
	Train   dataset.Selection
	Held    dataset.Selection // rows of HeldSet; may be empty

	Mean, Variance []float64 // of vectors, by dimension
	// Perceptual is the network behind the loss of that name; nil without.
	Perceptual *feature.LPIPS
}

// Close closes the files.
func (s Source) Close() {
	s.Set.Close()
	if s.HeldSet != s.Set {
		s.HeldSet.Close()
	}
}
