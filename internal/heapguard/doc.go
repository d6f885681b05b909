// Package heapguard keeps the embedded engine's vector loads inside mapped
// memory.
//
// The partial loads of Go 1.27's simd package (LoadFloat32sPart and its kin)
// read a whole vector and mask it afterwards, so that the engine reads up to 60
// bytes beyond a tensor whose rows are not a multiple of the vector's width.
// Nothing is done with those bytes, but at the very end of the mapped heap the
// read is a segmentation fault that no code can recover from. [Ensure] maps
// address space beyond the program's needs, so that nothing is ever allocated at
// the end of the heap.
package heapguard
