package feature

import "math"

// resizer resizes pictures, bilinear between pixel centres, edges repeated. A
// shrinking picture is averaged under a triangle as wide as two new pixels, against
// aliasing. Pillow and clean-fid do the same, but round the result to 8 bits.
type resizer struct {
	from, to int
	starts   []int       // first pixel that each new one reads
	weights  [][]float32 // of that pixel and those after it; their sum is 1
}

func newResizer(from, to int) *resizer {
	r := &resizer{from: from, to: to}
	scale := float64(from) / float64(to)
	reach := max(1, scale) // half the triangle's base
	for i := range to {
		centre := (float64(i) + 0.5) * scale
		first := max(0, int(math.Floor(centre-reach+0.5)))
		last := min(from, int(math.Floor(centre+reach+0.5)))
		sum, taps := 0.0, make([]float64, 0, last-first)
		for at := first; at < last; at++ {
			w := max(0, 1-math.Abs(float64(at)+0.5-centre)/reach)
			taps, sum = append(taps, w), sum+w
		}
		weights := make([]float32, len(taps))
		for k, w := range taps {
			weights[k] = float32(w / sum)
		}
		r.starts, r.weights = append(r.starts, first), append(r.weights, weights)
	}
	return r
}

// apply resizes pixels [from, from, 3] into out [to, to, 3], columns first.
func (r *resizer) apply(out []float32, pixels []uint8) {
	if r.from == r.to {
		for i, value := range pixels {
			out[i] = float32(value) / 255
		}
		return
	}
	narrow := make([]float32, r.from*r.to*3) // [from, to, 3]
	for y := range r.from {
		row := pixels[y*r.from*3 : (y+1)*r.from*3]
		for x := range r.to {
			var red, green, blue float32
			at := r.starts[x] * 3
			for _, w := range r.weights[x] {
				red += w * float32(row[at])
				green += w * float32(row[at+1])
				blue += w * float32(row[at+2])
				at += 3
			}
			to := narrow[(y*r.to+x)*3:]
			to[0], to[1], to[2] = red/255, green/255, blue/255
		}
	}
	width := r.to * 3
	for y := range r.to {
		row := out[y*width : (y+1)*width]
		clear(row)
		for k, w := range r.weights[y] {
			source := narrow[(r.starts[y]+k)*width:][:width]
			for i, value := range source {
				row[i] += w * value
			}
		}
	}
}
