//go:build !(goexperiment.simd && amd64)

package index

// supportedRows lists the row kernels of this CPU and build, fastest first.
func supportedRows() []rowKernel { return []rowKernel{portableRows} }
