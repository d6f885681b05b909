//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// fusedScores is kern.scores with fused multiply-adds, if the CPU has them. Last
// bits differ between CPUs; that is accurate enough for scores that only select
// candidates.
func fusedScores(kern kernel) func(panel, half, group []float32, out []float32, stride int) {
	switch kern.name {
	case "avx512":
		return fusedScoresAVX512
	case "avx2":
		return fusedScoresAVX2
	}
	return kern.scores
}

func fusedScoresAVX512(panel, half, group []float32, out []float32, stride int) {
	for r := 0; r < groupRows; r += 4 {
		fusedTileAVX512(panel, half, group[r:], out[r*stride:], stride)
	}
}

// fusedTileAVX512 writes 4 rows of 32 scores.
func fusedTileAVX512(panel, half, group []float32, out []float32, stride int) {
	h0 := archsimd.LoadFloat32x16Array((*[16]float32)(half[0:]))
	h1 := archsimd.LoadFloat32x16Array((*[16]float32)(half[16:]))
	a0, b0 := h0, h1
	a1, b1 := h0, h1
	a2, b2 := h0, h1
	a3, b3 := h0, h1
	for len(panel) >= 32 && len(group) >= 4 {
		c, x := (*[32]float32)(panel), (*[4]float32)(group)
		c0 := archsimd.LoadFloat32x16Array((*[16]float32)(c[0:]))
		c1 := archsimd.LoadFloat32x16Array((*[16]float32)(c[16:]))
		v := archsimd.BroadcastFloat32x16(x[0])
		a0, b0 = v.MulAdd(c0, a0), v.MulAdd(c1, b0)
		v = archsimd.BroadcastFloat32x16(x[1])
		a1, b1 = v.MulAdd(c0, a1), v.MulAdd(c1, b1)
		v = archsimd.BroadcastFloat32x16(x[2])
		a2, b2 = v.MulAdd(c0, a2), v.MulAdd(c1, b2)
		v = archsimd.BroadcastFloat32x16(x[3])
		a3, b3 = v.MulAdd(c0, a3), v.MulAdd(c1, b3)
		panel, group = panel[panelCodes:], group[min(len(group), groupRows):]
	}
	a0.StoreArray((*[16]float32)(out[:]))
	b0.StoreArray((*[16]float32)(out[16:]))
	a1.StoreArray((*[16]float32)(out[stride:]))
	b1.StoreArray((*[16]float32)(out[stride+16:]))
	a2.StoreArray((*[16]float32)(out[2*stride:]))
	b2.StoreArray((*[16]float32)(out[2*stride+16:]))
	a3.StoreArray((*[16]float32)(out[3*stride:]))
	b3.StoreArray((*[16]float32)(out[3*stride+16:]))
}

func fusedScoresAVX2(panel, half, group []float32, out []float32, stride int) {
	for j := 0; j < panelCodes; j += 16 {
		for r := 0; r < groupRows; r += 4 {
			fusedTileAVX2(panel[j:], half[j:], group[r:], out[r*stride+j:], stride)
		}
	}
}

// fusedTileAVX2 writes 4 rows of 16 scores.
func fusedTileAVX2(panel, half, group []float32, out []float32, stride int) {
	h0 := archsimd.LoadFloat32x8Array((*[8]float32)(half[0:]))
	h1 := archsimd.LoadFloat32x8Array((*[8]float32)(half[8:]))
	a0, b0 := h0, h1
	a1, b1 := h0, h1
	a2, b2 := h0, h1
	a3, b3 := h0, h1
	for len(panel) >= 16 && len(group) >= 4 {
		c, x := (*[16]float32)(panel), (*[4]float32)(group)
		c0 := archsimd.LoadFloat32x8Array((*[8]float32)(c[0:]))
		c1 := archsimd.LoadFloat32x8Array((*[8]float32)(c[8:]))
		v := archsimd.BroadcastFloat32x8(x[0])
		a0, b0 = v.MulAdd(c0, a0), v.MulAdd(c1, b0)
		v = archsimd.BroadcastFloat32x8(x[1])
		a1, b1 = v.MulAdd(c0, a1), v.MulAdd(c1, b1)
		v = archsimd.BroadcastFloat32x8(x[2])
		a2, b2 = v.MulAdd(c0, a2), v.MulAdd(c1, b2)
		v = archsimd.BroadcastFloat32x8(x[3])
		a3, b3 = v.MulAdd(c0, a3), v.MulAdd(c1, b3)
		panel, group = panel[min(len(panel), panelCodes):], group[min(len(group), groupRows):]
	}
	a0.StoreArray((*[8]float32)(out[:]))
	b0.StoreArray((*[8]float32)(out[8:]))
	a1.StoreArray((*[8]float32)(out[stride:]))
	b1.StoreArray((*[8]float32)(out[stride+8:]))
	a2.StoreArray((*[8]float32)(out[2*stride:]))
	b2.StoreArray((*[8]float32)(out[2*stride+8:]))
	a3.StoreArray((*[8]float32)(out[3*stride:]))
	b3.StoreArray((*[8]float32)(out[3*stride+8:]))
}
