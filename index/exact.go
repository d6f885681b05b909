package index

import "math"

// SquaredDistance is |a - b|^2 in float64 for a and b of equal length. Four partial
// sums in a fixed order, without fused operations, give every machine one result.
func SquaredDistance(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		p, q := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		d0 := float64(p[0]) - float64(q[0])
		d1 := float64(p[1]) - float64(q[1])
		d2 := float64(p[2]) - float64(q[2])
		d3 := float64(p[3]) - float64(q[3])
		s0 += float64(d0 * d0)
		s1 += float64(d1 * d1)
		s2 += float64(d2 * d2)
		s3 += float64(d3 * d3)
	}
	for ; i < len(a); i++ {
		d := float64(a[i]) - float64(b[i])
		s0 += float64(d * d)
	}
	return (s0 + s1) + (s2 + s3)
}

// roundingOf returns the factors of scoreError for d coordinates.
//
// With unit roundoff u = 2^-24, a score h - sum x_j c_j makes d additions, each off
// by at most u times a partial sum, which is at most h + |x||c| by Cauchy-Schwarz.
// Rounding the products (without FMA), h, and the centred x and c adds at most
// 5u (h + |x||c|). The allowance of 10, and 1% on top, covers second-order terms
// and the float64 arithmetic too; the floor covers results below the normal range.
func roundingOf(d int) (scale, floor float64) {
	const u = 1.0 / (1 << 24)
	n := float64(d)
	return 1.01 * (1 + n*u) * (n + 10) * u, (2*n + 4) * math.SmallestNonzeroFloat32
}

// scoreError bounds the error of the float32 score of a centred row of length
// rowNorm and centred codes up to length codeNorm.
func (c *Codes) scoreError(rowNorm, codeNorm float64) float64 {
	return c.errorScale*(codeNorm*codeNorm/2+rowNorm*codeNorm) + c.errorFloor
}

// largestScore is the magnitude up to which no partial sum overflows float32.
const largestScore = 1e37

// nearestByDefinition compares x with every distinct code in float64.
func (c *Codes) nearestByDefinition(x []float32) (code uint32, distance float64) {
	distance = math.Inf(1)
	for _, i := range c.source {
		if s := SquaredDistance(x, c.Row(int(i))); s < distance {
			code, distance = i, s
		}
	}
	if math.IsInf(distance, 1) { // x holds a NaN or an infinity
		return 0, math.NaN()
	}
	return code, distance
}

// settle turns the kernel's proposals for row r of a group into the nearest code
// of x, whose centred length is rowNorm. The distance is known if wanted.
func (c *Codes) settle(state *groupState, r int, x []float32, rowNorm float64, wanted bool) (code uint32, distance float64, known bool) {
	if !(rowNorm*c.norm < largestScore && c.norm*c.norm < largestScore) {
		code, distance = c.nearestByDefinition(x)
		return code, distance, true
	}
	best, second := &state.best[r], &state.second[r]
	winner, top, runnerUp := 0, best[0], second[0]
	for lane := 1; lane < lanes; lane++ {
		if b := best[lane]; b < top {
			winner, top, runnerUp = lane, b, top
		} else if b < runnerUp {
			runnerUp = b
		}
		if s := second[lane]; s < runnerUp {
			runnerUp = s
		}
	}
	score := float64(top)
	code = c.source[state.code[r][winner]]
	clear := float64(runnerUp) > score+2*c.scoreError(rowNorm, c.norm)
	if clear && !wanted {
		return code, 0, false
	}
	distance = SquaredDistance(x, c.Row(int(code)))
	if clear {
		return code, distance, true
	}
	// A nearer code is no longer than rowNorm plus the proposal's distance: a
	// tighter bound when some codes are far out.
	codeNorm := min(c.norm, 1.001*(rowNorm+math.Sqrt(distance)))
	limit := score + 2*c.scoreError(rowNorm, codeNorm)
	if float64(runnerUp) > limit {
		return code, distance, true
	}
	for lane := range lanes {
		switch {
		case float64(best[lane]) > limit:
		case float64(second[lane]) > limit:
			code, distance = c.nearer(x, int(state.code[r][lane]), code, distance)
		default:
			for i := lane; i < len(c.source); i += lanes {
				code, distance = c.nearer(x, i, code, distance)
			}
		}
	}
	return code, distance, true
}

func (c *Codes) nearer(x []float32, i int, code uint32, distance float64) (uint32, float64) {
	other := c.source[i]
	s := SquaredDistance(x, c.Row(int(other)))
	if s < distance || s == distance && other < code {
		return other, s
	}
	return code, distance
}
