package nn

import (
	"math"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// sequences is a batch of sequences of vectors in the slow reference: plain
// loops, float64.
type sequences struct {
	n, t, c int
	data    []float64
}

func asSequences(v gradtest.Value) sequences {
	return sequences{v.Shape[0], v.Shape[1], v.Shape[2], v.Data}
}

func emptySequences(n, t, c int) sequences { return sequences{n, t, c, make([]float64, n*t*c)} }

func (s sequences) row(n, t int) []float64 { return s.data[(n*s.t+t)*s.c : (n*s.t+t+1)*s.c] }

// times maps every vector by a matrix [in, out].
func (s sequences) times(matrix gradtest.Value) sequences {
	out := matrix.Shape[1]
	y := emptySequences(s.n, s.t, out)
	for r := range s.n * s.t {
		for i := range s.c {
			for j := range out {
				y.data[r*out+j] += s.data[r*s.c+i] * matrix.Data[i*out+j]
			}
		}
	}
	return y
}

func (s sequences) plus(other sequences) sequences {
	y := emptySequences(s.n, s.t, s.c)
	for i := range y.data {
		y.data[i] = s.data[i] + other.data[i]
	}
	return y
}

func (s sequences) norm(v variables, kind string) sequences {
	y := emptySequences(s.n, s.t, s.c)
	for n := range s.n {
		for t := range s.t {
			from, to := s.row(n, t), y.row(n, t)
			mean, square := 0.0, 0.0
			if kind == "layer" {
				for _, x := range from {
					mean += x / float64(s.c)
				}
			}
			for _, x := range from {
				square += (x - mean) * (x - mean) / float64(s.c)
			}
			for i, x := range from {
				to[i] = (x - mean) / math.Sqrt(square+1e-6) * v.get("scale").Data[i]
				if kind == "layer" {
					to[i] += v.get("bias").Data[i]
				}
			}
		}
	}
	return y
}

// sight is a Mask in the reference.
type sight struct {
	lengths []int // nil: all
	causal  bool
}

func (m sight) sees(n, query, queries, key, keys int) bool {
	return (m.lengths == nil || key < m.lengths[n]) && (!m.causal || key <= query+keys-queries)
}

// attention lets s gather from source; bias is [heads, T, S] or nil.
func (s sequences) attention(v variables, source sequences, a Attention, m sight, bias []float64) sequences {
	q, k, w := s.times(v.get("query")), source.times(v.get("key")), source.times(v.get("value"))
	y := emptySequences(s.n, s.t, a.inner())
	for n := range s.n {
		for h := range a.Heads {
			part := func(x sequences, t int) []float64 { return x.row(n, t)[h*a.HeadDim : (h+1)*a.HeadDim] }
			for i := range s.t {
				scores, total := make([]float64, source.t), 0.0
				for j := range source.t {
					if !m.sees(n, i, s.t, j, source.t) {
						continue
					}
					dot := 0.0
					for d := range a.HeadDim {
						dot += part(q, i)[d] * part(k, j)[d]
					}
					dot /= math.Sqrt(float64(a.HeadDim))
					if bias != nil {
						dot += bias[(h*s.t+i)*source.t+j]
					}
					scores[j] = math.Exp(dot)
					total += scores[j]
				}
				for j := range source.t {
					if scores[j] == 0 {
						continue
					}
					for d := range a.HeadDim {
						part(y, i)[d] += scores[j] / total * part(w, j)[d]
					}
				}
			}
		}
	}
	return y.times(v.get("output"))
}

// positionBias is the bias [heads, T, S] of relative positions, given the
// buckets by distance.
func positionBias(v variables, heads, queries, keys int, p RelativePositions) []float64 {
	table := v.get("bias")
	bias := make([]float64, heads*queries*keys)
	for h := range heads {
		for i := range queries {
			for j := range keys {
				bias[(h*queries+i)*keys+j] = table.Data[p.Bucket(j-i)*heads+h]
			}
		}
	}
	return bias
}

func (s sequences) feedForward(v variables, act string) sequences {
	h := s.times(v.get("up"))
	for i, x := range h.data {
		h.data[i] = activations[act](x)
	}
	return h.times(v.get("down"))
}

// transformer is a stack; with a memory, that of a decoder.
func (s sequences) transformer(v variables, c Transformer, lengths []int, memory *sequences) sequences {
	if memory == nil {
		return s.stack(v, c, sight{lengths: lengths})
	}
	return s.decoder(v, c, sight{causal: true}, memory, sight{lengths: lengths})
}

// stack is an encoder or, with causal sight, a stack without a memory.
func (s sequences) stack(v variables, c Transformer, self sight) sequences {
	return s.decoder(v, c, self, nil, sight{})
}

func (s sequences) decoder(v variables, c Transformer, self sight, memory *sequences, seen sight) sequences {
	var bias []float64
	switch c.Positions {
	case "relative":
		bias = positionBias(v.sub("positions"), c.Heads, s.t, s.t, c.relative(memory != nil))
	case "absolute":
		places := emptySequences(s.n, s.t, s.c)
		for i := range places.data {
			places.data[i] = v.sub("positions").get("table").Data[i%(s.t*s.c)] * math.Sqrt(float64(s.c))
		}
		s = s.plus(places)
	}
	for i := range c.Layers {
		l := v.sub("layer%d", i)
		x := s.norm(l.sub("self_norm"), c.Norm)
		s = s.plus(x.attention(l.sub("self"), x, c.attention(), self, bias))
		if memory != nil {
			s = s.plus(s.norm(l.sub("cross_norm"), c.Norm).attention(l.sub("cross"), *memory, c.attention(), seen, nil))
		}
		s = s.plus(s.norm(l.sub("feed_norm"), c.Norm).feedForward(l.sub("feed"), c.Activation))
	}
	return s.norm(v.sub("norm"), c.Norm)
}
