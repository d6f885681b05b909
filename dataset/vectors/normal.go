package vectors

import (
	"math"
	"math/rand/v2"
)

// normalStream draws uniform and standard normal numbers that are the same on
// every platform. rand.NormFloat64 is not used: it calls math.Exp and math.Log,
// whose last bit depends on the architecture.
type normalStream struct {
	random *rand.Rand
	spare  float64
	stored bool
}

// uniform returns a number in [0, 1).
func (s *normalStream) uniform() float64 { return s.random.Float64() }

// normal returns a standard normal number by Marsaglia's polar method. The
// float64 conversions around products forbid fused multiply-adds.
func (s *normalStream) normal() float64 {
	if s.stored {
		s.stored = false
		return s.spare
	}
	for {
		u := float64(2*s.uniform()) - 1
		v := float64(2*s.uniform()) - 1
		q := float64(u*u) + float64(v*v)
		if q >= 1 || q == 0 {
			continue
		}
		factor := math.Sqrt(float64(-2*portableLog(q)) / q)
		s.spare, s.stored = v*factor, true
		return u * factor
	}
}

// portableLog is the natural logarithm of a positive finite x, to about 1e-15
// relative, by operations that round the same everywhere:
// log m = 2 artanh((m-1)/(m+1)) after scaling m into [sqrt(1/2), sqrt(2)).
func portableLog(x float64) float64 {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = m*2, exponent-1
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s) // at most 0.0295: the 12th power is below rounding
	series := 0.0
	for k := 23; k >= 3; k -= 2 {
		series = float64(z * (series + 1/float64(k)))
	}
	return float64(float64(exponent)*math.Ln2) + float64(float64(2*s)*(1+series))
}

// softSign bends x smoothly towards -1 and 1.
func softSign(x float64) float64 { return x / (1 + math.Abs(x)) }
