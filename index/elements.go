package index

// elements is one implementation of the loops over the coordinates of a vector that
// conditions need. All round after each operation and give equal bits. Slices after the
// first are at least as long as it.
type elements struct {
	// hidden writes relu(a + b) to out.
	hidden func(out, a, b []float32)
	// rectify replaces negative elements by zero.
	rectify func(x []float32)
	// scale replaces t by (a+t)/(a-t), a = 4+4|t|.
	scale func(t []float32)
	// moved writes mu + s·c to out.
	moved func(out, mu, scale, c []float32)
	// query writes y = s·mean - (r - mu) to y, s·y to product and s²-1 to excess.
	query func(y, product, excess, residual, mu, scale, mean []float32)
	// change is the sum of f·(p + 2(own - r)), in elementLanes sums that are added in order.
	change func(f, p, own, r []float32) float32
}

const elementLanes = 8

var portableElements = elements{
	hidden: hiddenPortable, rectify: rectifyPortable, scale: scalePortable, moved: movedPortable, query: queryPortable, change: changePortable,
}

func hiddenPortable(out, a, b []float32) {
	a, b = a[:len(out)], b[:len(out)]
	for j := range out {
		out[j] = max(a[j]+b[j], 0)
	}
}

func rectifyPortable(x []float32) {
	for j, v := range x {
		x[j] = max(v, 0)
	}
}

func scalePortable(t []float32) {
	for j, v := range t {
		a := 4 + 4*max(v, -v) // the product is exact
		t[j] = (a + v) / (a - v)
	}
}

func movedPortable(out, mu, scale, c []float32) {
	mu, scale, c = mu[:len(out)], scale[:len(out)], c[:len(out)]
	for j := range out {
		out[j] = mu[j] + float32(scale[j]*c[j])
	}
}

func queryPortable(y, product, excess, residual, mu, scale, mean []float32) {
	n := len(y)
	product, excess, residual, mu, scale, mean = product[:n], excess[:n], residual[:n], mu[:n], scale[:n], mean[:n]
	for j, s := range scale {
		v := float32(s*mean[j]) - (residual[j] - mu[j])
		y[j], product[j], excess[j] = v, s*v, float32(s*s)-1
	}
}

func changePortable(f, p, own, r []float32) float32 {
	var sums [elementLanes]float32
	p, own, r = p[:len(f)], own[:len(f)], r[:len(f)]
	for j, x := range f {
		sums[j%elementLanes] += float32(x * (p[j] + float32(2*(own[j]-r[j]))))
	}
	return inOrder(&sums)
}

func inOrder(sums *[elementLanes]float32) (total float32) {
	for _, v := range sums {
		total += v
	}
	return total
}
