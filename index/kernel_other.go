//go:build !(goexperiment.simd && amd64)

package index

func supportedKernels() []kernel { return []kernel{portableKernel} }

func supportedRows() []rowKernel { return []rowKernel{portableRows} }

func supportedScans[T uint8 | uint16 | uint32]() []func(g *lookupGroup, codes []T, half []float32) (int, uint32) {
	return []func(g *lookupGroup, codes []T, half []float32) (int, uint32){scanPortable[T]}
}

func fusedScores(kern kernel) func(panel, half, group []float32, out []float32, stride int) {
	return kern.scores
}
