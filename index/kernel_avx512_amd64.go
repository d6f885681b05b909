//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// The AVX-512 kernels hold 4 rows by 32 codes in eight registers, one code a
// lane, so each score is one sequential chain over the coordinates. More sums
// would not run faster (eight chains hide the latency of a multiply-add), and
// the compiler keeps no more than fifteen values in registers around a loop;
// unrolling makes it spill.

func nearestAVX512(panel, half, group []float32, base int32, state *groupState) {
	for r := 0; r < groupRows; r += 4 {
		nearestTileAVX512(panel, half, group[r:], base, state, r)
	}
}

// nearestTileAVX512 handles rows r to r+3 of a group.
func nearestTileAVX512(panel, half, group []float32, base int32, state *groupState, r int) {
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
	code0 := archsimd.LoadInt32x16Array(&laneNumbers).Add(archsimd.BroadcastInt32x16(base))
	code1 := code0.Add(archsimd.BroadcastInt32x16(lanes))
	state.mergeAVX512(r, a0, b0, code0, code1)
	state.mergeAVX512(r+1, a1, b1, code0, code1)
	state.mergeAVX512(r+2, a2, b2, code0, code1)
	state.mergeAVX512(r+3, a3, b3, code0, code1)
}

// mergeAVX512 folds the scores s0 and s1 of two vectors of codes into row r.
func (state *groupState) mergeAVX512(r int, s0, s1 archsimd.Float32x16, code0, code1 archsimd.Int32x16) {
	best := archsimd.LoadFloat32x16Array(&state.best[r])
	second := archsimd.LoadFloat32x16Array(&state.second[r])
	code := archsimd.LoadInt32x16Array(&state.code[r])
	code = code0.IfElse(s0.Less(best), code)
	second = second.Min(best.Max(s0))
	best = best.Min(s0)
	code = code1.IfElse(s1.Less(best), code)
	second = second.Min(best.Max(s1))
	best = best.Min(s1)
	best.StoreArray(&state.best[r])
	second.StoreArray(&state.second[r])
	code.StoreArray(&state.code[r])
}

func scoresAVX512(panel, half, group []float32, out []float32, stride int) {
	for r := 0; r < groupRows; r += 4 {
		scoresTileAVX512(panel, half, group[r:], out[r*stride:], stride)
	}
}

// scoresTileAVX512 writes 4 rows of 32 scores.
func scoresTileAVX512(panel, half, group []float32, out []float32, stride int) {
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
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x16(x[1])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x16(x[2])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x16(x[3])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
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

func belowAVX512(scores *[panelCodes]float32, energy, limit float32) uint32 {
	e, top := archsimd.BroadcastFloat32x16(energy), archsimd.BroadcastFloat32x16(limit)
	s0 := archsimd.LoadFloat32x16Array((*[16]float32)(scores[0:]))
	s1 := archsimd.LoadFloat32x16Array((*[16]float32)(scores[16:]))
	low := e.Add(s0.Add(s0)).Less(top).ToBits()
	high := e.Add(s1.Add(s1)).Less(top).ToBits()
	return uint32(low) | uint32(high)<<16
}

func addAVX512(sum, x []float32) {
	for len(sum) >= 16 && len(x) >= 16 {
		s := (*[16]float32)(sum)
		archsimd.LoadFloat32x16Array(s).Add(archsimd.LoadFloat32x16Array((*[16]float32)(x))).StoreArray(s)
		sum, x = sum[16:], x[16:]
	}
}
