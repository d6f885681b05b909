package nn

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// picture is a batch of images in the slow reference: plain loops, float64.
type picture struct {
	n, h, w, c int
	data       []float64
}

func asPicture(v gradtest.Value) picture {
	return picture{v.Shape[0], v.Shape[1], v.Shape[2], v.Shape[3], v.Data}
}

func blank(n, h, w, c int) picture { return picture{n, h, w, c, make([]float64, n*h*w*c)} }

func (p picture) at(n, y, x, c int) *float64 { return &p.data[((n*p.h+y)*p.w+x)*p.c+c] }

// variables finds the reference's parameters below a path.
type variables struct {
	in   gradtest.Inputs
	path string
}

func (v variables) sub(format string, args ...any) variables {
	return variables{v.in, v.path + fmt.Sprintf(format, args...) + "/"}
}

func (v variables) get(name string) gradtest.Value { return v.in[v.path+name] }

// conv is a convolution with zeros around.
func (p picture) conv(v variables, stride, before, after int) picture {
	k, bias := v.get("weights"), v.get("bias").Data
	size, out := k.Shape[0], k.Shape[3]
	y := blank(p.n, (p.h+before+after-size)/stride+1, (p.w+before+after-size)/stride+1, out)
	for n := range p.n {
		for oy := range y.h {
			for ox := range y.w {
				for to := range out {
					sum := bias[to]
					for ky := range size {
						for kx := range size {
							py, px := oy*stride+ky-before, ox*stride+kx-before
							if py < 0 || py >= p.h || px < 0 || px >= p.w {
								continue
							}
							for from := range p.c {
								sum += *p.at(n, py, px, from) * k.Data[((ky*size+kx)*p.c+from)*out+to]
							}
						}
					}
					*y.at(n, oy, ox, to) = sum
				}
			}
		}
	}
	return y
}

func (p picture) groupNorm(v variables, groups int) picture {
	scale, bias := v.get("scale").Data, v.get("bias").Data
	y := blank(p.n, p.h, p.w, p.c)
	each := p.c / groups
	for n := range p.n {
		for g := range groups {
			var mean, variance float64
			visit := func(f func(y, x, c int)) {
				for y := range p.h {
					for x := range p.w {
						for c := g * each; c < (g+1)*each; c++ {
							f(y, x, c)
						}
					}
				}
			}
			count := float64(p.h * p.w * each)
			visit(func(y, x, c int) { mean += *p.at(n, y, x, c) / count })
			visit(func(y, x, c int) { variance += math.Pow(*p.at(n, y, x, c)-mean, 2) / count })
			visit(func(py, px, c int) {
				*y.at(n, py, px, c) = (*p.at(n, py, px, c)-mean)/math.Sqrt(variance+1e-5)*scale[c] + bias[c]
			})
		}
	}
	return y
}

func (p picture) silu() picture {
	y := blank(p.n, p.h, p.w, p.c)
	for i, x := range p.data {
		y.data[i] = x / (1 + math.Exp(-x))
	}
	return y
}

func (p picture) plus(q picture) picture {
	y := blank(p.n, p.h, p.w, p.c)
	for i := range y.data {
		y.data[i] = p.data[i] + q.data[i]
	}
	return y
}

// repeated is the image with every pixel stride times in both directions.
func (p picture) repeated(stride int) picture {
	y := blank(p.n, stride*p.h, stride*p.w, p.c)
	for n := range y.n {
		for py := range y.h {
			for px := range y.w {
				for c := range y.c {
					*y.at(n, py, px, c) = *p.at(n, py/stride, px/stride, c)
				}
			}
		}
	}
	return y
}

// scattered is the transposed convolution with a kernel twice the stride: every pixel
// adds its multiple of the kernel [2·stride, 2·stride, out, in].
func (p picture) scattered(v variables, stride int) picture {
	k, bias := v.get("weights"), v.get("bias").Data
	out := k.Shape[2]
	y := blank(p.n, stride*p.h, stride*p.w, out)
	for i := range y.data {
		y.data[i] = bias[i%out]
	}
	for n := range p.n {
		for py := range p.h {
			for px := range p.w {
				for ky := range 2 * stride {
					for kx := range 2 * stride {
						oy, ox := stride*py+ky-stride/2, stride*px+kx-stride/2
						if oy < 0 || oy >= y.h || ox < 0 || ox >= y.w {
							continue
						}
						for to := range out {
							for from := range p.c {
								*y.at(n, oy, ox, to) += *p.at(n, py, px, from) * k.Data[((ky*2*stride+kx)*out+to)*p.c+from]
							}
						}
					}
				}
			}
		}
	}
	return y
}

func (p picture) upsample(v variables, kind string, stride int) picture {
	if kind == "nearest" {
		return p.repeated(stride).conv(v, 1, 1, 1)
	}
	return p.scattered(v, stride)
}

// moved copies every value of p to the place that at names.
func (p picture) moved(y picture, at func(py, px, c int) (int, int, int)) picture {
	for n := range p.n {
		for py := range p.h {
			for px := range p.w {
				for c := range p.c {
					oy, ox, oc := at(py, px, c)
					*y.at(n, oy, ox, oc) = *p.at(n, py, px, c)
				}
			}
		}
	}
	return y
}

func (p picture) patches(side int) picture {
	return p.moved(blank(p.n, p.h/side, p.w/side, side*side*p.c), func(y, x, c int) (int, int, int) {
		return y / side, x / side, (y%side*side+x%side)*p.c + c
	})
}

func (p picture) unpatched(side int) picture {
	channels := p.c / side / side
	return p.moved(blank(p.n, p.h*side, p.w*side, channels), func(y, x, c int) (int, int, int) {
		return y*side + c/channels/side, x*side + c/channels%side, c % channels
	})
}

func (p picture) residual(v variables, groups int) picture {
	h := p.groupNorm(v.sub("norm0"), commonDivisor(p.c, groups)).silu().conv(v.sub("conv0"), 1, 1, 1)
	h = h.groupNorm(v.sub("norm1"), commonDivisor(h.c, groups)).silu().conv(v.sub("conv1"), 1, 1, 1)
	if h.c != p.c {
		p = p.conv(v.sub("skip"), 1, 0, 0)
	}
	return p.plus(h)
}

func (p picture) encode(v variables, e ImageEncoder) picture {
	squares := p.patches(e.Factor())
	p = p.conv(v.sub("input"), 1, 1, 1)
	for stage := range e.Widths {
		for block := range e.Blocks {
			p = p.residual(v.sub("stage%d/block%d", stage, block), e.Groups)
		}
		if stage < len(e.Widths)-1 {
			stride := strideAt(e.Strides, stage)
			pad := SamePadding(max(3, stride), 1)[0]
			p = p.conv(v.sub("stage%d/down", stage), stride, pad[0], pad[1])
		}
	}
	p = p.groupNorm(v.sub("norm"), commonDivisor(p.c, e.Groups)).silu().conv(v.sub("output"), 1, 0, 0)
	if e.Linear {
		p = p.plus(squares.conv(v.sub("linear"), 1, 0, 0))
	}
	return p
}

func (p picture) decode(v variables, d ImageDecoder) picture {
	latents := p
	p = p.conv(v.sub("input"), 1, 1, 1)
	for stage := len(d.Widths) - 1; stage >= 0; stage-- {
		for block := range d.Blocks {
			p = p.residual(v.sub("stage%d/block%d", stage, block), d.Groups)
		}
		if stage > 0 {
			p = p.upsample(v.sub("stage%d/up", stage), d.Up, strideAt(d.Strides, stage-1))
		}
	}
	p = p.groupNorm(v.sub("norm"), commonDivisor(p.c, d.Groups)).silu().conv(v.sub("output"), 1, 1, 1)
	if d.Linear {
		p = p.plus(latents.conv(v.sub("linear"), 1, 1, 1).unpatched(factor(d.Widths, d.Strides)))
	}
	return p
}
