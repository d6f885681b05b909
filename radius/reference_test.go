package radius

import "math"

// The families in float64: the reference of the graph code.

// hostValue holds r = ρ(δ; θ) of the radial families.
var hostValue = map[Kind]func(delta, theta float64) float64{
	Euclidean: func(delta, _ float64) float64 { return delta },
	Clipped:   math.Min,
	Power:     math.Pow,
	Huber: func(delta, h float64) float64 {
		if delta <= h {
			return delta * delta / (2 * h)
		}
		return delta - h/2
	},
	SoftClip: func(delta, tau float64) float64 { return tau * math.Tanh(delta/tau) },
	PseudoHuber: func(delta, h float64) float64 {
		u := delta / h
		return h * u * u / (1 + math.Sqrt(1+u*u))
	},
	Temperature: func(delta, t float64) float64 { return t * math.Log1p(delta/t) },
}

// Value is r(code, latent). metric is the Mahalanobis metric (ignored by the
// other families).
func (c Config) Value(code, latent []float64, theta float64, metric Metric) float64 {
	if value, ok := hostValue[c.Kind]; ok {
		r := value(gap(code, latent), theta)
		if c.Kind == PseudoHuber && c.PaperScale {
			r *= theta
		}
		return r
	}
	if c.Kind == PNorm {
		return hostPNorm(difference(code, latent), theta)
	}
	return metric.norm(difference(code, latent))
}

func difference(code, latent []float64) []float64 {
	d := make([]float64, len(code))
	for i := range d {
		d[i] = code[i] - latent[i]
	}
	return d
}

func gap(code, latent []float64) float64 {
	sum := 0.0
	for _, x := range difference(code, latent) {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// hostPNorm is (Σ|dᵢ|^p)^(1/p), scaled by the largest entry so that powers stay in
// range, with |d| smoothed for p = 1.
func hostPNorm(d []float64, p float64) float64 {
	largest, sum := 0.0, 0.0
	for _, x := range d {
		largest = math.Max(largest, math.Abs(x))
	}
	if largest == 0 || math.IsInf(p, 1) {
		return largest
	}
	for _, x := range d {
		if p == 1 {
			sum += math.Sqrt(x*x+pNormSmoothing*pNormSmoothing) - pNormSmoothing
		} else {
			sum += math.Pow(math.Abs(x)/largest, p)
		}
	}
	if p == 1 {
		return sum
	}
	return largest * math.Pow(sum, 1/p)
}

// Metric is A = diag(a²) + F Fᵀ. Diagonal holds a (nil for zero), Factor the
// columns of F as rows (nil for none).
type Metric struct {
	Diagonal []float64   // [d]
	Factor   [][]float64 // [m][d]
}

func (m Metric) norm(d []float64) float64 {
	sum := 0.0
	for i, a := range m.Diagonal {
		sum += a * a * d[i] * d[i]
	}
	for _, column := range m.Factor {
		dot := 0.0
		for i := range d {
			dot += column[i] * d[i]
		}
		sum += dot * dot
	}
	return math.Sqrt(sum)
}
