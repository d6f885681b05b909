package onnx

import (
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// operator computes a node's first output.
type operator func(b *builder, n *node) value

// entry is an operator that networks may use.
type entry struct {
	read       operator // builds a node that was read; nil: it is only written
	attributes kinds    // that [Writer.Node] may set
}

// kinds are the types of attributes by name.
type kinds map[string]attributeKind

// attributeKind is a value of AttributeProto.AttributeType.
type attributeKind int64

const (
	kindFloat attributeKind = 1
	kindInt   attributeKind = 2
	kindText  attributeKind = 3
	kindInts  attributeKind = 7
)

// operators is filled by init, because they refer to the builder and it to them.
var operators map[string]entry

func init() {
	var (
		window = kinds{"kernel_shape": kindInts, "strides": kindInts, "dilations": kindInts, "pads": kindInts, "group": kindInt}
		axis   = kinds{"axis": kindInt}
		axes   = kinds{"axes": kindInts, "keepdims": kindInt}
		arg    = kinds{"axis": kindInt, "keepdims": kindInt}
	)
	operators = map[string]entry{
		"Add": {pairwise(Add), nil}, "Sub": {pairwise(Sub), nil}, "Mul": {pairwise(Mul), nil}, "Div": {pairwise(Div), nil},
		"Relu": {elementwise(relu), nil}, "Sigmoid": {elementwise(Sigmoid), nil}, "Tanh": {elementwise(Tanh), nil},
		"LeakyRelu": {leakyRelu, nil}, "Clip": {clip, nil}, "Softmax": {softmax, axis},
		"Identity": {identity, nil}, "Dropout": {identity, nil}, "Cast": {identity, kinds{"to": kindInt}},
		"Conv": {convolution, window}, "BatchNormalization": {batchNormalization, nil}, "Gemm": {gemm, nil}, "MatMul": {matMul, nil},
		"MaxPool": {maxPool, nil}, "AveragePool": {averagePool, nil},
		"GlobalAveragePool": {globalPool(ReduceMean), nil}, "GlobalMaxPool": {globalPool(ReduceMax), nil},
		"ReduceMean": {reduceMean, axes}, "Pad": {pad, nil},
		"Concat": {concat, axis}, "Flatten": {flatten, axis}, "Reshape": {reshape, nil}, "Transpose": {transpose, kinds{"perm": kindInts}},
		"Shape": {shape, kinds{"start": kindInt, "end": kindInt}}, "ConstantOfShape": {constantOfShape, nil}, "Gather": {gather, axis},
		"Slice": {slice, nil}, "Unsqueeze": {unsqueeze, nil}, "Squeeze": {squeeze, nil},
		// Only written.
		"Abs": {}, "Erf": {}, "Exp": {}, "Floor": {}, "Round": {}, "Greater": {}, "Mod": {}, "Range": {}, "Equal": {}, "Where": {}, "Less": {},
		"Expand": {}, "Sqrt": {},
		"ArgMin": {nil, arg}, "TopK": {nil, kinds{"axis": kindInt, "largest": kindInt}}, "GatherElements": {nil, axis},
		"GatherND": {nil, kinds{"batch_dims": kindInt}}, "ReduceSum": {nil, kinds{"keepdims": kindInt}},
		"LpNormalization": {nil, kinds{"axis": kindInt, "p": kindInt}}, "InstanceNormalization": {nil, kinds{"epsilon": kindFloat}},
		"ConvTranspose": {nil, window}, "DepthToSpace": {nil, kinds{"blocksize": kindInt, "mode": kindText}},
		"Resize": {nil, kinds{"mode": kindText, "nearest_mode": kindText, "coordinate_transformation_mode": kindText}},
	}
}

// Operators lists the operators that networks may use which are read, besides Constant.
func Operators() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(operators) {
			if operators[name].read != nil && !yield(name) {
				return
			}
		}
	})
}
