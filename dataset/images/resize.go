package images

import "math"

// longestSide is how many times longer than its short side a picture's part
// that takes part in training can be: of longer strips the middle is used, so
// that enlarging a line of pixels cannot exhaust the memory.
const longestSide = 8

// prepare brings a picture to the size that squares are cut from. A short side
// above short is reduced to it, one below size enlarged to size; others stay.
func prepare(p *RGB, size, short int) *RGB {
	p = p.middle(min(p.Width, longestSide*p.Height), min(p.Height, longestSide*p.Width))
	side := min(p.Width, p.Height)
	target := side
	switch {
	case side > short:
		target = short
	case side < size:
		target = size
	}
	scaled := func(length int) int { return (2*length*target + side) / (2 * side) } // rounded
	return resize(p, scaled(p.Width), scaled(p.Height))
}

// resize scales with the Catmull-Rom cubic, stretched when reducing so that
// every pixel of the original counts: first in x, then in y.
func resize(p *RGB, width, height int) *RGB {
	if width != p.Width {
		p = resizeX(p, width)
	}
	if height != p.Height {
		p = resizeY(p, height)
	}
	return p
}

// weightBits is the precision of filter weights: sums of bytes times weights
// stay within 31 bits.
const weightBits = 20

// filter holds, for every output position, the inputs it sums and their
// weights in units of 2^-weightBits.
type filter struct {
	first   []int
	weights [][]int32
}

// newFilter maps in positions to out positions.
func newFilter(in, out int) *filter {
	scale := float64(in) / float64(out)
	stretch := max(scale, 1)
	f := &filter{first: make([]int, out), weights: make([][]int32, out)}
	taps := int(4*stretch) + 3 // at most
	values := make([]float64, 0, taps)
	all := make([]int32, 0, out*taps)
	for o := range out {
		centre := (float64(o) + 0.5) * scale
		from := max(int(math.Floor(centre-2*stretch+0.5)), 0)
		to := min(int(math.Floor(centre+2*stretch+0.5)), in)
		values = values[:0]
		sum := 0.0
		for i := from; i < to; i++ {
			v := catmullRom((float64(i) + 0.5 - centre) / stretch)
			values = append(values, v)
			sum += v
		}
		start := len(all)
		for _, v := range values {
			all = append(all, int32(math.Round(v/sum*(1<<weightBits))))
		}
		f.first[o], f.weights[o] = from, all[start:]
	}
	return f
}

// catmullRom is Keys' cubic convolution kernel (1981) with a = -1/2. The
// conversions forbid fused multiply-adds, so that pixels are the same on every
// CPU.
func catmullRom(x float64) float64 {
	x = math.Abs(x)
	switch {
	case x < 1:
		return float64(float64(float64(1.5*x)-2.5)*x*x) + 1
	case x < 2:
		return float64((float64((float64(-0.5*x)+2.5)*x)-4)*x) + 2
	}
	return 0
}

func resizeX(p *RGB, width int) *RGB {
	f := newFilter(p.Width, width)
	result := NewRGB(width, p.Height)
	for y := range p.Height {
		row := p.Pix[y*p.Width*3 : (y+1)*p.Width*3]
		out := result.Pix[y*width*3 : (y+1)*width*3]
		for x, weights := range f.weights {
			var r, g, b int32 = 1 << (weightBits - 1), 1 << (weightBits - 1), 1 << (weightBits - 1)
			from := row[f.first[x]*3:]
			from = from[:len(weights)*3]
			for i, w := range weights {
				pixel := from[i*3 : i*3+3 : i*3+3]
				r += w * int32(pixel[0])
				g += w * int32(pixel[1])
				b += w * int32(pixel[2])
			}
			pixel := out[x*3 : x*3+3 : x*3+3]
			pixel[0], pixel[1], pixel[2] = clampByte(r>>weightBits), clampByte(g>>weightBits), clampByte(b>>weightBits)
		}
	}
	return result
}

func resizeY(p *RGB, height int) *RGB {
	f := newFilter(p.Height, height)
	result := NewRGB(p.Width, height)
	stride := p.Width * 3
	sums := make([]int32, stride)
	for y, weights := range f.weights {
		for i := range sums {
			sums[i] = 1 << (weightBits - 1)
		}
		for i, w := range weights {
			row := p.Pix[(f.first[y]+i)*stride:][:len(sums)]
			for x, v := range row {
				sums[x] += w * int32(v)
			}
		}
		out := result.Pix[y*stride:][:len(sums)]
		for x, v := range sums {
			out[x] = clampByte(v >> weightBits)
		}
	}
	return result
}
