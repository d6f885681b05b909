package main

import "runtime"

// warnWithoutSIMD says once that this build is slow. Only amd64 has vector
// kernels, so other CPUs lose nothing.
func warnWithoutSIMD(s *streams) {
	if !simdBuiltIn && runtime.GOARCH == "amd64" {
		s.Remark("gritvq: this build is about 20 times slower than it could be; build it with: GOEXPERIMENT=simd go build ./cmd/gritvq")
	}
}
