//go:build goexperiment.simd && amd64

package index

import "simd/archsimd"

// elementsAVX2 is also the fastest on processors with AVX-512: these loops are bound by
// loads and stores.
var elementsAVX2 = elements{
	hidden: hiddenAVX2, rectify: rectifyAVX2, scale: scaleAVX2, moved: movedAVX2, query: queryAVX2, change: changeAVX2,
}

func load8(x []float32) archsimd.Float32x8 { return archsimd.LoadFloat32x8Array((*[8]float32)(x)) }

func store8(x archsimd.Float32x8, out []float32) { x.StoreArray((*[8]float32)(out)) }

func hiddenAVX2(out, a, b []float32) {
	a, b = a[:len(out)], b[:len(out)]
	var zero archsimd.Float32x8
	j := 0
	for ; j+8 <= len(out); j += 8 {
		store8(load8(a[j:]).Add(load8(b[j:])).Max(zero), out[j:])
	}
	hiddenPortable(out[j:], a[j:], b[j:])
}

func rectifyAVX2(x []float32) {
	var zero archsimd.Float32x8
	j := 0
	for ; j+8 <= len(x); j += 8 {
		store8(load8(x[j:]).Max(zero), x[j:])
	}
	rectifyPortable(x[j:])
}

func scaleAVX2(t []float32) {
	four := archsimd.BroadcastFloat32x8(4)
	j := 0
	for ; j+8 <= len(t); j += 8 {
		v := load8(t[j:])
		a := four.Add(four.Mul(v.Abs()))
		store8(a.Add(v).Div(a.Sub(v)), t[j:])
	}
	scalePortable(t[j:])
}

func movedAVX2(out, mu, scale, c []float32) {
	mu, scale, c = mu[:len(out)], scale[:len(out)], c[:len(out)]
	j := 0
	for ; j+8 <= len(out); j += 8 {
		store8(load8(mu[j:]).Add(load8(scale[j:]).Mul(load8(c[j:]))), out[j:])
	}
	movedPortable(out[j:], mu[j:], scale[j:], c[j:])
}

func queryAVX2(y, product, excess, residual, mu, scale, mean []float32) {
	n := len(y)
	product, excess, residual, mu, scale, mean = product[:n], excess[:n], residual[:n], mu[:n], scale[:n], mean[:n]
	one := archsimd.BroadcastFloat32x8(1)
	j := 0
	for ; j+8 <= n; j += 8 {
		s := load8(scale[j:])
		v := s.Mul(load8(mean[j:])).Sub(load8(residual[j:]).Sub(load8(mu[j:])))
		store8(v, y[j:])
		store8(s.Mul(v), product[j:])
		store8(s.Mul(s).Sub(one), excess[j:])
	}
	queryPortable(y[j:], product[j:], excess[j:], residual[j:], mu[j:], scale[j:], mean[j:])
}

func changeAVX2(f, p, own, r []float32) float32 {
	p, own, r = p[:len(f)], own[:len(f)], r[:len(f)]
	var sum archsimd.Float32x8
	two := archsimd.BroadcastFloat32x8(2)
	j := 0
	for ; j+8 <= len(f); j += 8 {
		gap := two.Mul(load8(own[j:]).Sub(load8(r[j:])))
		sum = sum.Add(load8(f[j:]).Mul(load8(p[j:]).Add(gap)))
	}
	var sums [elementLanes]float32
	sum.StoreArray(&sums)
	for i := range f[j:] {
		sums[i] += float32(f[j+i] * (p[j+i] + float32(2*(own[j+i]-r[j+i]))))
	}
	return inOrder(&sums)
}
