//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// The AVX2 kernels hold 4 rows by 16 codes in eight registers, one code a
// lane, so each score is one sequential chain over the coordinates. Four
// coordinates a turn spread the cost of the moves at the end of the loop.

func nearestAVX2(panel, half, group []float32, base int32, state *groupState) {
	for j := 0; j < panelCodes; j += lanes {
		for r := 0; r < groupRows; r += 4 {
			nearestTileAVX2(panel[j:], half[j:], group[r:], base+int32(j), state, r)
		}
	}
}

// nearestTileAVX2 handles rows r to r+3 and the first 16 codes of panel.
func nearestTileAVX2(panel, half, group []float32, base int32, state *groupState, r int) {
	h0 := archsimd.LoadFloat32x8Array((*[8]float32)(half[0:]))
	h1 := archsimd.LoadFloat32x8Array((*[8]float32)(half[8:]))
	a0, b0 := h0, h1
	a1, b1 := h0, h1
	a2, b2 := h0, h1
	a3, b3 := h0, h1
	for len(panel) >= 112 && len(group) >= 28 {
		c, x := (*[112]float32)(panel), (*[28]float32)(group)
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
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[32:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[40:]))
		v = archsimd.BroadcastFloat32x8(x[8])
		a0, b0 = v.MulAdd(c0, a0), v.MulAdd(c1, b0)
		v = archsimd.BroadcastFloat32x8(x[9])
		a1, b1 = v.MulAdd(c0, a1), v.MulAdd(c1, b1)
		v = archsimd.BroadcastFloat32x8(x[10])
		a2, b2 = v.MulAdd(c0, a2), v.MulAdd(c1, b2)
		v = archsimd.BroadcastFloat32x8(x[11])
		a3, b3 = v.MulAdd(c0, a3), v.MulAdd(c1, b3)
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[64:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[72:]))
		v = archsimd.BroadcastFloat32x8(x[16])
		a0, b0 = v.MulAdd(c0, a0), v.MulAdd(c1, b0)
		v = archsimd.BroadcastFloat32x8(x[17])
		a1, b1 = v.MulAdd(c0, a1), v.MulAdd(c1, b1)
		v = archsimd.BroadcastFloat32x8(x[18])
		a2, b2 = v.MulAdd(c0, a2), v.MulAdd(c1, b2)
		v = archsimd.BroadcastFloat32x8(x[19])
		a3, b3 = v.MulAdd(c0, a3), v.MulAdd(c1, b3)
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[96:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[104:]))
		v = archsimd.BroadcastFloat32x8(x[24])
		a0, b0 = v.MulAdd(c0, a0), v.MulAdd(c1, b0)
		v = archsimd.BroadcastFloat32x8(x[25])
		a1, b1 = v.MulAdd(c0, a1), v.MulAdd(c1, b1)
		v = archsimd.BroadcastFloat32x8(x[26])
		a2, b2 = v.MulAdd(c0, a2), v.MulAdd(c1, b2)
		v = archsimd.BroadcastFloat32x8(x[27])
		a3, b3 = v.MulAdd(c0, a3), v.MulAdd(c1, b3)
		panel, group = panel[min(len(panel), 4*panelCodes):], group[min(len(group), 4*groupRows):]
	}
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
	first := archsimd.BroadcastInt32x8(base)
	code0 := archsimd.LoadInt32x8Array((*[8]int32)(laneNumbers[0:])).Add(first)
	code1 := archsimd.LoadInt32x8Array((*[8]int32)(laneNumbers[8:])).Add(first)
	state.mergeAVX2(r, 0, a0, code0)
	state.mergeAVX2(r, 8, b0, code1)
	state.mergeAVX2(r+1, 0, a1, code0)
	state.mergeAVX2(r+1, 8, b1, code1)
	state.mergeAVX2(r+2, 0, a2, code0)
	state.mergeAVX2(r+2, 8, b2, code1)
	state.mergeAVX2(r+3, 0, a3, code0)
	state.mergeAVX2(r+3, 8, b3, code1)
}

// mergeAVX2 folds the scores s of eight codes, whose first class is lane, into
// row r.
func (state *groupState) mergeAVX2(r, lane int, s archsimd.Float32x8, codes archsimd.Int32x8) {
	bestAt, secondAt := (*[8]float32)(state.best[r][lane:]), (*[8]float32)(state.second[r][lane:])
	codeAt := (*[8]int32)(state.code[r][lane:])
	best, second := archsimd.LoadFloat32x8Array(bestAt), archsimd.LoadFloat32x8Array(secondAt)
	codes.IfElse(s.Less(best), archsimd.LoadInt32x8Array(codeAt)).StoreArray(codeAt)
	second.Min(best.Max(s)).StoreArray(secondAt)
	best.Min(s).StoreArray(bestAt)
}

func scoresAVX2(panel, half, group []float32, out []float32, stride int) {
	for j := 0; j < panelCodes; j += lanes {
		for r := 0; r < groupRows; r += 4 {
			scoresTileAVX2(panel[j:], half[j:], group[r:], out[r*stride+j:], stride)
		}
	}
}

// scoresTileAVX2 writes 4 rows of 16 scores.
func scoresTileAVX2(panel, half, group []float32, out []float32, stride int) {
	h0 := archsimd.LoadFloat32x8Array((*[8]float32)(half[0:]))
	h1 := archsimd.LoadFloat32x8Array((*[8]float32)(half[8:]))
	a0, b0 := h0, h1
	a1, b1 := h0, h1
	a2, b2 := h0, h1
	a3, b3 := h0, h1
	for len(panel) >= 112 && len(group) >= 28 {
		c, x := (*[112]float32)(panel), (*[28]float32)(group)
		c0 := archsimd.LoadFloat32x8Array((*[8]float32)(c[0:]))
		c1 := archsimd.LoadFloat32x8Array((*[8]float32)(c[8:]))
		v := archsimd.BroadcastFloat32x8(x[0])
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[1])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[2])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[3])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[32:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[40:]))
		v = archsimd.BroadcastFloat32x8(x[8])
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[9])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[10])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[11])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[64:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[72:]))
		v = archsimd.BroadcastFloat32x8(x[16])
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[17])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[18])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[19])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
		c0 = archsimd.LoadFloat32x8Array((*[8]float32)(c[96:]))
		c1 = archsimd.LoadFloat32x8Array((*[8]float32)(c[104:]))
		v = archsimd.BroadcastFloat32x8(x[24])
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[25])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[26])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[27])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
		panel, group = panel[min(len(panel), 4*panelCodes):], group[min(len(group), 4*groupRows):]
	}
	for len(panel) >= 16 && len(group) >= 4 {
		c, x := (*[16]float32)(panel), (*[4]float32)(group)
		c0 := archsimd.LoadFloat32x8Array((*[8]float32)(c[0:]))
		c1 := archsimd.LoadFloat32x8Array((*[8]float32)(c[8:]))
		v := archsimd.BroadcastFloat32x8(x[0])
		a0, b0 = a0.Add(v.Mul(c0)), b0.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[1])
		a1, b1 = a1.Add(v.Mul(c0)), b1.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[2])
		a2, b2 = a2.Add(v.Mul(c0)), b2.Add(v.Mul(c1))
		v = archsimd.BroadcastFloat32x8(x[3])
		a3, b3 = a3.Add(v.Mul(c0)), b3.Add(v.Mul(c1))
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

func belowAVX2(scores *[panelCodes]float32, energy, limit float32) uint32 {
	e, top := archsimd.BroadcastFloat32x8(energy), archsimd.BroadcastFloat32x8(limit)
	var bits uint32
	for j := 0; j < panelCodes; j += 8 {
		s := archsimd.LoadFloat32x8Array((*[8]float32)(scores[j:]))
		bits |= uint32(e.Add(s.Add(s)).Less(top).ToBits()) << j
	}
	return bits
}

func addAVX2(sum, x []float32) {
	for len(sum) >= 8 && len(x) >= 8 {
		s := (*[8]float32)(sum)
		archsimd.LoadFloat32x8Array(s).Add(archsimd.LoadFloat32x8Array((*[8]float32)(x))).StoreArray(s)
		sum, x = sum[8:], x[8:]
	}
}
