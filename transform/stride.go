package transform

import "path"

// strideCodes is the number of codes up to which a mixer's variables take whole
// steps; the default learning rates were found at this size.
const strideCodes = 256

// Stride is the share of the learning rate that a mixer variable should take.
// Optimizers that normalise gradients move every entry of B or M by about the
// rate, all in one direction if the batch says so, and a mixed code sums over K
// of them: the same rate that suits 256 codes throws 65,536 off the latents in
// a few steps. So the step of a variable falls with the number of codes it sums
// over, as for any layer whose inputs grow in number. p ends in the variable's
// path ("mixer/b"), shape is its shape; the last axis is the one summed over.
func (c Config) Stride(p string, shape []int) float64 {
	if c.Attends() {
		return 1 // attention weights sum to one whatever the number of codes
	}
	switch path.Base(p) {
	case "b", "m":
		return min(1, strideCodes/float64(shape[len(shape)-1]))
	}
	return 1
}
