//go:build !(goexperiment.simd && amd64)

package heapguard

// Ensure does nothing: this build has no partial vector loads that read beyond
// their slice.
func Ensure() {}
