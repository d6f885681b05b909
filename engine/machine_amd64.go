//go:build goexperiment.simd && amd64

package engine

import (
	"simd/archsimd"

	"github.com/gomlx/compute/support/envutil"
)

func vectorLevel() string {
	switch {
	case archsimd.X86.AVX512() && allowed(envutil.GoBackendSIMD_AVX512):
		return "avx512"
	case archsimd.X86.AVX2() && allowed(envutil.GoBackendSIMD_AVX2):
		return "avx2"
	}
	return "simd"
}

// allowed says whether the user's environment leaves a kind of vector instructions to the engine, which refuses other words.
func allowed(variable string) bool {
	value, err := envutil.ReadBool(variable, true)
	return value || err != nil
}
