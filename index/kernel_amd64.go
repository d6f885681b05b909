//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// supportedKernels lists the kernels of this CPU and build, fastest first.
func supportedKernels() []kernel {
	var list []kernel
	if archsimd.X86.AVX512() {
		list = append(list, kernel{
			name: "avx512", nearest: nearestAVX512, scores: scoresAVX512, below: belowAVX512, add: addAVX512, elements: elementsAVX2,
		})
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		list = append(list, kernel{
			name: "avx2", nearest: nearestAVX2, scores: scoresAVX2, below: belowAVX2, add: addAVX2, elements: elementsAVX2,
		})
	}
	return append(list, portableKernel)
}

var laneNumbers = [lanes]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
