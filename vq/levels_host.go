package vq

import (
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// startCondition returns a condition without effect: its last layers are zero, and the
// shortlist is a copy of the usable codes.
func (l conditional) startCondition(usable *weights.Array, rng *rand.Rand) weights.Set {
	d, h := l.dim, l.config.Transform.Hidden
	into := func(rows, columns int) *weights.Array {
		return weights.Normal(rng, 1/math.Sqrt(float64(rows)), rows, columns)
	}
	m, ok := l.condition.(implicitCodes)
	if !ok {
		vars := weights.Set{"q": into(d, h), "bias": weights.New(h), "u": weights.New(h, 2*d)}
		return weights.Set{}.Merge(conditionPath, vars)
	}
	set := weights.Set{shortlistPath: usable.Clone()}
	if m.concat {
		set.Merge(concatPath, weights.Set{"codes": weights.New(d, d), "sent": weights.New(d, d), "bias": weights.New(d)})
	}
	for i := range m.blocks {
		vars := weights.Set{"p": into(d, h), "u": weights.New(h, d)}
		if !m.concat {
			vars["q"], vars["bias"] = into(d, h), weights.New(h)
		}
		set.Merge(blockPath(i), vars)
	}
	return set
}

// onHost returns the condition with the level's variables, for searches on the host.
func (l conditional) onHost(vars weights.Set) index.Condition {
	data := func(path, name string) []float32 {
		if a := vars[path+"/"+name]; a != nil {
			return a.Data
		}
		return nil
	}
	h := l.config.Transform.Hidden
	m, ok := l.condition.(implicitCodes)
	if !ok {
		c := conditionPath
		return index.Affine{Hidden: h, Q: data(c, "q"), Bias: data(c, "bias"), U: data(c, "u")}
	}
	out := index.Implicit{Shortlist: data(conditionPath, "shortlist"), Candidates: m.candidates}
	if m.concat {
		out.Concat = &index.Concat{Codes: data(concatPath, "codes"), Sent: data(concatPath, "sent"), Bias: data(concatPath, "bias")}
	}
	for i := range m.blocks {
		b := blockPath(i)
		out.Blocks = append(out.Blocks, index.Block{Hidden: h, P: data(b, "p"), Q: data(b, "q"), Bias: data(b, "bias"), U: data(b, "u")})
	}
	return out
}
