//go:build !goexperiment.simd

package engine

// SIMD says whether this build has vector kernels.
const SIMD = false
