//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// supportedScans lists the scans of this CPU and build, fastest first.
func supportedScans[T uint8 | uint16 | uint32]() (list []func(g *lookupGroup, codes []T, half []float32) (int, uint32)) {
	if archsimd.X86.AVX512() {
		list = append(list, scanAVX512[T])
	}
	if archsimd.X86.AVX2() {
		list = append(list, scanAVX2[T])
	}
	return append(list, scanPortable[T])
}

func scanAVX512[T uint8 | uint16 | uint32](g *lookupGroup, codes []T, half []float32) (row int, below uint32) {
	limits, tables, starts := archsimd.LoadFloat32x16Array(&g.limits), g.tables, g.starts
	for i, h := range half {
		sum := archsimd.BroadcastFloat32x16(h)
		for p, code := range codes[:len(starts)] {
			sum = sum.Add(archsimd.LoadFloat32x16Array((*[16]float32)(tables[starts[p]+int(code)*16:])))
		}
		codes = codes[len(starts):]
		if bits := sum.Less(limits).ToBits(); bits != 0 {
			sum.StoreArray(&g.scores)
			return i, uint32(bits)
		}
	}
	return len(half), 0
}

func scanAVX2[T uint8 | uint16 | uint32](g *lookupGroup, codes []T, half []float32) (row int, below uint32) {
	limits0 := archsimd.LoadFloat32x8Array((*[8]float32)(g.limits[0:]))
	limits1 := archsimd.LoadFloat32x8Array((*[8]float32)(g.limits[8:]))
	tables, starts := g.tables, g.starts
	for i, h := range half {
		sum0, sum1 := archsimd.BroadcastFloat32x8(h), archsimd.BroadcastFloat32x8(h)
		for p, code := range codes[:len(starts)] {
			entry := (*[16]float32)(tables[starts[p]+int(code)*16:])
			sum0 = sum0.Add(archsimd.LoadFloat32x8Array((*[8]float32)(entry[0:])))
			sum1 = sum1.Add(archsimd.LoadFloat32x8Array((*[8]float32)(entry[8:])))
		}
		codes = codes[len(starts):]
		if bits := uint32(sum0.Less(limits0).ToBits()) | uint32(sum1.Less(limits1).ToBits())<<8; bits != 0 {
			sum0.StoreArray((*[8]float32)(g.scores[0:]))
			sum1.StoreArray((*[8]float32)(g.scores[8:]))
			return i, bits
		}
	}
	return len(half), 0
}
