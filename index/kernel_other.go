//go:build !(goexperiment.simd && amd64)

package index

// supportedKernels lists the kernels of this CPU and build, fastest first.
func supportedKernels() []kernel { return []kernel{portableKernel} }
