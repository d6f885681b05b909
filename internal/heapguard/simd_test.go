//go:build goexperiment.simd

package heapguard

const simd = true
