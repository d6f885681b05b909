//go:build !goexperiment.simd || !amd64

package engine

func vectorLevel() string {
	if SIMD {
		return "simd"
	}
	return "scalar"
}
