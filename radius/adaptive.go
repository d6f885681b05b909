package radius

import (
	"fmt"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// adaptiveFloor bounds the precision of a dimension without quantization error.
const adaptiveFloor = 1e-6

const precisionPath = "state/precision"

// adaptive is family (10): a diagonal Mahalanobis radius whose precision follows
// the quantization errors, A ← (1-β)A + β/(mean D² + floor), for all codes
// together ([d]) or for each code of each level ([L*K,d], level after level). A row
// coded by several levels has the mean of its codes' precisions. Gradients treat A as
// a constant.
var adaptive = family{
	kind: Adaptive,
	check: func(c Config) error {
		if !(c.Decay > 0 && c.Decay <= 1) {
			return fmt.Errorf("radius.decay: %g must be in (0, 1]", c.Decay)
		}
		return nil
	},
	variables: func(c Config, d, k, levels int) weights.Set {
		if c.PerCode {
			return weights.Set{precisionPath: weights.Full(1, levels*k, d)}
		}
		return weights.Set{precisionPath: weights.Full(1, d)}
	},
	measure: func(c Config, in Inputs, difference, _ *Node) (r, gradient *Node) {
		precision := in.Vars.Get(precisionPath)
		if c.PerCode {
			precision = in.precisionOfRows(precision)
		}
		return mahalanobisNorm(difference, StopGradient(Sqrt(precision)), nil)
	},
	updates: adaptPrecision,
}

// precisionOfRows is the mean [N,d] of the precisions [L*K,d] of each row's codes, of
// the levels in use.
func (in Inputs) precisionOfRows(precision *Node) *Node {
	var sum *Node
	levels := in.Index.Shape().Dimensions[1]
	for l := range levels {
		own, at := in.ofLevel(precision, l)
		rows := Gather(own, at) // [N,d]
		if in.Active != nil {
			rows = Mul(rows, in.active(l))
		}
		if sum == nil {
			sum = rows
		} else {
			sum = Add(sum, rows)
		}
	}
	if in.Active != nil {
		return Div(sum, MaxScalar(ReduceAllSum(in.Active), 1))
	}
	return DivScalar(sum, float64(levels))
}

// ofLevel returns the part [K,d] of a table [L*K,d] that belongs to a level, and the
// rows' codes [N,1] of this level.
func (in Inputs) ofLevel(table *Node, l int) (own, at *Node) {
	k := table.Shape().Dimensions[0] / in.Index.Shape().Dimensions[1]
	return Slice(table, AxisRange(l*k, (l+1)*k)), Slice(in.Index, AxisRange(), AxisRange(l, l+1))
}

// active is 1 if a level is in use and 0 if not; only for inputs with Active.
func (in Inputs) active(l int) *Node { return Reshape(Slice(in.Active, AxisRange(l, l+1))) }

// used returns 1 [N,1] for rows in use and 0 for padding.
func (in Inputs) used(rows *Node) *Node {
	if in.Mask == nil {
		return Ones(rows.Graph(), shapes.Make(rows.DType(), rows.Shape().Dimensions[0], 1))
	}
	return ExpandAxes(ConvertDType(in.Mask, rows.DType()), -1)
}

// adaptPrecision moves precisions towards those of the rows in use. Codes without
// any, and the codes of levels that are not in use, keep theirs.
func adaptPrecision(c Config, in Inputs, latent, code *Node) map[string]*Node {
	old := in.Vars.Get(precisionPath)
	used := in.used(latent)
	squared := Mul(StopGradient(Square(Sub(code, latent))), used)
	towards := func(from, sum, count *Node) *Node {
		estimate := Reciprocal(AddScalar(Div(sum, MaxScalar(count, 1)), adaptiveFloor))
		next := Add(MulScalar(from, 1-c.Decay), MulScalar(estimate, c.Decay))
		seen := GreaterThan(count, ZerosLike(count))
		return Where(BroadcastToDims(seen, from.Shape().Dimensions...), next, from)
	}
	path := in.Vars.Path(precisionPath)
	if !c.PerCode {
		return map[string]*Node{path: towards(old, ReduceSum(squared, 0), Reshape(ReduceAllSum(used), 1))}
	}
	var levels []*Node
	for l := range in.Index.Shape().Dimensions[1] {
		own, at := in.ofLevel(old, l)
		dims := own.Shape().Dimensions
		sums := Scatter(at, squared, own.Shape(), false, false)                          // [K,d]
		counts := Scatter(at, used, shapes.Make(used.DType(), dims[0], 1), false, false) // [K,1]
		next := towards(own, sums, counts)
		if in.Active != nil {
			next = Add(own, Mul(Sub(next, own), in.active(l)))
		}
		levels = append(levels, next)
	}
	return map[string]*Node{path: Concatenate(levels, 0)}
}
