//go:build goexperiment.simd && amd64

package heapguard

import (
	"testing"
	"unsafe"
)

// Memory allocated after Ensure lies below the fence, or right behind it in
// pages that a processor had set aside: never at the end of the heap, which is
// megabytes further.
func TestNothingLiesAtTheEndOfTheHeap(t *testing.T) {
	Ensure()
	wall := uintptr(unsafe.Pointer(&fence[0]))
	const aside = 2 << 20 // some processors' pages
	var kept [][]float32
	below := 0
	for range 2000 {
		x := make([]float32, 8192)
		kept = append(kept, x)
		end := uintptr(unsafe.Pointer(&x[0])) + 4*uintptr(len(x))
		switch {
		case end <= wall:
			below++
		case end > wall+fenceSize+aside:
			t.Fatalf("a tensor ends %d KiB behind the fence", (end-wall-fenceSize)>>10)
		}
	}
	if below < 1000 {
		t.Errorf("only %d of %d tensors lie below the fence", below, len(kept))
	}
}
