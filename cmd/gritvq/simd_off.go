//go:build !goexperiment.simd

package main

const simdBuiltIn = false
