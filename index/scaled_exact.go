package index

import "math"

// scaledDistance is |x - scale*c|² in float64.
func scaledDistance(x, scale, c []float32) float64 {
	sum := 0.0
	for j, v := range x {
		d := float64(v) - float64(scale[j])*float64(c[j])
		sum += float64(d * d)
	}
	return sum
}

// settle returns the nearest code of residual x: the proposals for row r of a group that
// rounding leaves open are compared in float64.
func (s *scaledCodes) settle(state *groupState, r int, x, scale []float32) uint32 {
	var first, second float64 // squared lengths of s*x and s²
	for j, v := range x {
		a, b := float64(scale[j])*float64(v), float64(scale[j])*float64(scale[j])
		first, second = first+a*a, second+b*b
	}
	// Every partial sum is at most |s*x||c| + |s²||c²/2|. Rounding of the query and of the
	// codes adds a few units to those of 2d sums: see roundingOf.
	factor, floor := roundingOf(2 * s.d)
	reach := math.Sqrt(first)*s.norm + math.Sqrt(second)*s.squares
	if !(reach < largestScore) {
		code, _ := s.best(x, scale, 0, 1, 0, math.Inf(1))
		return code
	}
	top := state.best[r][0]
	for _, b := range state.best[r] {
		top = min(top, b)
	}
	limit := float64(top) + 2*(factor*reach+floor)
	code, distance := uint32(0), math.Inf(1)
	for lane := range lanes {
		switch {
		case float64(state.best[r][lane]) > limit:
		case float64(state.second[r][lane]) > limit:
			code, distance = s.nearer(x, scale, int(state.code[r][lane]), code, distance)
		default:
			code, distance = s.best(x, scale, lane, lanes, code, distance)
		}
	}
	return code
}

// best compares every step-th packed code from first on with the best so far.
func (s *scaledCodes) best(x, scale []float32, first, step int, code uint32, distance float64) (uint32, float64) {
	for i := first; i < len(s.source); i += step {
		code, distance = s.nearer(x, scale, i, code, distance)
	}
	return code, distance
}

func (s *scaledCodes) nearer(x, scale []float32, i int, code uint32, distance float64) (uint32, float64) {
	other := s.source[i]
	if d := scaledDistance(x, scale, s.Row(int(other))); d < distance || d == distance && other < code {
		return other, d
	}
	return code, distance
}
