//go:build !(goexperiment.simd && amd64)

package index

func supportedKernels() []kernel { return []kernel{portableKernel} }

func supportedRows() []rowKernel { return []rowKernel{portableRows} }

func fusedScores(kern kernel) func(panel, half, group []float32, out []float32, stride int) {
	return kern.scores
}
