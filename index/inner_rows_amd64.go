//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// Four rows are measured together: their sums do not wait for each other, nor
// do the loads of rows that are far apart in memory.

// supportedRows lists the row kernels of this CPU and build, fastest first.
func supportedRows() []rowKernel {
	var list []rowKernel
	if archsimd.X86.AVX512() {
		list = append(list, rowKernel{name: "avx512", squared: squaredRowsAVX512, negated: negatedRowsAVX512})
	}
	if archsimd.X86.AVX2() {
		list = append(list, rowKernel{name: "avx2", squared: squaredRowsAVX2, negated: negatedRowsAVX2})
	}
	return append(list, portableRows)
}

// fourRows returns the rows of the first four items; the last item is repeated
// where there are fewer.
func fourRows(rows []float32, stride int, items []uint32) (r0, r1, r2, r3 []float32) {
	last := len(items) - 1
	at := func(i int) []float32 {
		from := int(items[min(i, last)]) * stride
		return rows[from : from+stride]
	}
	return at(0), at(1), at(2), at(3)
}

// storeFour writes the four sums that are wanted.
func storeFour(sums archsimd.Float32x4, out []float32) {
	if len(out) >= 4 {
		sums.StoreArray((*[4]float32)(out))
		return
	}
	var all [4]float32
	sums.StoreArray(&all)
	copy(out, all[:])
}

// addFour reduces the eight sums of each of four rows in the order of addLanes.
func addFour(a0, a1, a2, a3 archsimd.Float32x8) archsimd.Float32x4 {
	b0, b1 := a0.GetLo().Add(a0.GetHi()), a1.GetLo().Add(a1.GetHi())
	b2, b3 := a2.GetLo().Add(a2.GetHi()), a3.GetLo().Add(a3.GetHi())
	return b0.ConcatAddPairs(b1).ConcatAddPairs(b2.ConcatAddPairs(b3))
}

func squaredRowsAVX512(query, rows []float32, stride int, items []uint32, out []float32) {
	out = out[:len(items)]
	for len(items) > 0 && len(out) > 0 {
		r0, r1, r2, r3 := fourRows(rows, stride, items)
		var a0, a1, a2, a3 archsimd.Float32x16
		for q := query; len(q) >= 16 && len(r0) >= 16 && len(r1) >= 16 && len(r2) >= 16 && len(r3) >= 16; {
			x := archsimd.LoadFloat32x16Array((*[16]float32)(q))
			d := x.Sub(archsimd.LoadFloat32x16Array((*[16]float32)(r0)))
			a0 = a0.Add(d.Mul(d))
			d = x.Sub(archsimd.LoadFloat32x16Array((*[16]float32)(r1)))
			a1 = a1.Add(d.Mul(d))
			d = x.Sub(archsimd.LoadFloat32x16Array((*[16]float32)(r2)))
			a2 = a2.Add(d.Mul(d))
			d = x.Sub(archsimd.LoadFloat32x16Array((*[16]float32)(r3)))
			a3 = a3.Add(d.Mul(d))
			q, r0, r1, r2, r3 = q[16:], r0[16:], r1[16:], r2[16:], r3[16:]
		}
		storeFour(addFour(a0.GetLo().Add(a0.GetHi()), a1.GetLo().Add(a1.GetHi()),
			a2.GetLo().Add(a2.GetHi()), a3.GetLo().Add(a3.GetHi())), out)
		items, out = items[min(4, len(items)):], out[min(4, len(out)):]
	}
}

func negatedRowsAVX512(query, rows []float32, stride int, items []uint32, out []float32) {
	out = out[:len(items)]
	for len(items) > 0 && len(out) > 0 {
		r0, r1, r2, r3 := fourRows(rows, stride, items)
		var a0, a1, a2, a3 archsimd.Float32x16
		for q := query; len(q) >= 16 && len(r0) >= 16 && len(r1) >= 16 && len(r2) >= 16 && len(r3) >= 16; {
			x := archsimd.LoadFloat32x16Array((*[16]float32)(q))
			a0 = a0.Add(x.Mul(archsimd.LoadFloat32x16Array((*[16]float32)(r0))))
			a1 = a1.Add(x.Mul(archsimd.LoadFloat32x16Array((*[16]float32)(r1))))
			a2 = a2.Add(x.Mul(archsimd.LoadFloat32x16Array((*[16]float32)(r2))))
			a3 = a3.Add(x.Mul(archsimd.LoadFloat32x16Array((*[16]float32)(r3))))
			q, r0, r1, r2, r3 = q[16:], r0[16:], r1[16:], r2[16:], r3[16:]
		}
		storeFour(addFour(a0.GetLo().Add(a0.GetHi()), a1.GetLo().Add(a1.GetHi()),
			a2.GetLo().Add(a2.GetHi()), a3.GetLo().Add(a3.GetHi())).Neg(), out)
		items, out = items[min(4, len(items)):], out[min(4, len(out)):]
	}
}

func squaredRowsAVX2(query, rows []float32, stride int, items []uint32, out []float32) {
	out = out[:len(items)]
	for len(items) > 0 && len(out) > 0 {
		r0, r1, r2, r3 := fourRows(rows, stride, items)
		var a0, a1, a2, a3, b0, b1, b2, b3 archsimd.Float32x8
		for q := query; len(q) >= 16 && len(r0) >= 16 && len(r1) >= 16 && len(r2) >= 16 && len(r3) >= 16; {
			low, high := archsimd.LoadFloat32x8Array((*[8]float32)(q)), archsimd.LoadFloat32x8Array((*[8]float32)(q[8:]))
			d, e := low.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r0))), high.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r0[8:])))
			a0, b0 = a0.Add(d.Mul(d)), b0.Add(e.Mul(e))
			d, e = low.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r1))), high.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r1[8:])))
			a1, b1 = a1.Add(d.Mul(d)), b1.Add(e.Mul(e))
			d, e = low.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r2))), high.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r2[8:])))
			a2, b2 = a2.Add(d.Mul(d)), b2.Add(e.Mul(e))
			d, e = low.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r3))), high.Sub(archsimd.LoadFloat32x8Array((*[8]float32)(r3[8:])))
			a3, b3 = a3.Add(d.Mul(d)), b3.Add(e.Mul(e))
			q, r0, r1, r2, r3 = q[16:], r0[16:], r1[16:], r2[16:], r3[16:]
		}
		storeFour(addFour(a0.Add(b0), a1.Add(b1), a2.Add(b2), a3.Add(b3)), out)
		items, out = items[min(4, len(items)):], out[min(4, len(out)):]
	}
}

func negatedRowsAVX2(query, rows []float32, stride int, items []uint32, out []float32) {
	out = out[:len(items)]
	for len(items) > 0 && len(out) > 0 {
		r0, r1, r2, r3 := fourRows(rows, stride, items)
		var a0, a1, a2, a3, b0, b1, b2, b3 archsimd.Float32x8
		for q := query; len(q) >= 16 && len(r0) >= 16 && len(r1) >= 16 && len(r2) >= 16 && len(r3) >= 16; {
			low, high := archsimd.LoadFloat32x8Array((*[8]float32)(q)), archsimd.LoadFloat32x8Array((*[8]float32)(q[8:]))
			a0 = a0.Add(low.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r0))))
			b0 = b0.Add(high.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r0[8:]))))
			a1 = a1.Add(low.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r1))))
			b1 = b1.Add(high.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r1[8:]))))
			a2 = a2.Add(low.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r2))))
			b2 = b2.Add(high.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r2[8:]))))
			a3 = a3.Add(low.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r3))))
			b3 = b3.Add(high.Mul(archsimd.LoadFloat32x8Array((*[8]float32)(r3[8:]))))
			q, r0, r1, r2, r3 = q[16:], r0[16:], r1[16:], r2[16:], r3[16:]
		}
		storeFour(addFour(a0.Add(b0), a1.Add(b1), a2.Add(b2), a3.Add(b3)).Neg(), out)
		items, out = items[min(4, len(items)):], out[min(4, len(out)):]
	}
}
