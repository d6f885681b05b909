//go:build !(goexperiment.simd && amd64)

package index

// supportedKernels lists the kernels of this CPU and build, fastest first.
func supportedKernels() []kernel { return []kernel{portableKernel} }

// supportedRows lists the row kernels of this CPU and build, fastest first.
func supportedRows() []rowKernel { return []rowKernel{portableRows} }

// fusedScores is kern.scores: there are no fused kernels in this build.
func fusedScores(kern kernel) func(panel, half, group []float32, out []float32, stride int) {
	return kern.scores
}
