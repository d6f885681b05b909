package onnx

import (
	"fmt"
	"math"
)

// encodeVectors maps vectors to latents [N, dim].
func (n network) encodeVectors(x string) string {
	x = n.w.Apply("Div", n.w.Apply("Sub", x, n.variable("state/mean")), n.variable("state/scale"))
	z := n.layers("encoder", x)
	if n.set["state/rotation"] != nil {
		z = n.product(z, "state/rotation")
	}
	return z
}

// decodeVectors is the way back from quantized latents.
func (n network) decodeVectors(z string) string {
	if n.set["state/rotation"] != nil {
		turn := n.w.Node("Transpose", []string{n.variable("state/rotation")}, nil)
		z = n.w.Apply("MatMul", z, turn)
	}
	x := n.layers("decoder", z)
	return n.w.Apply("Add", n.w.Apply("Mul", x, n.variable("state/scale")), n.variable("state/mean"))
}

// layers are the dense layers below a path.
func (n network) layers(at, x string) string {
	for i := 0; n.set[fmt.Sprintf("%s/layer%d/weights", at, i)] != nil; i++ {
		if i > 0 {
			x = n.activation(x)
		}
		layer := fmt.Sprintf("%s/layer%d", at, i)
		x = n.w.Apply("Add", n.product(x, layer, "weights"), n.variable(layer, "bias"))
	}
	return x
}

func (n network) activation(x string) string {
	switch n.spec.Model.Activation {
	case "gelu":
		return n.gelu(x)
	case "silu":
		return n.silu(x)
	}
	return n.w.Apply("Relu", x)
}

func (n network) silu(x string) string { return n.w.Apply("Mul", x, n.w.Apply("Sigmoid", x)) }

func (n network) gelu(x string) string {
	share := n.scalar("Mul", n.scalar("Add", n.w.Apply("Erf", n.scalar("Div", x, math.Sqrt2)), 1), 0.5)
	return n.w.Apply("Mul", x, share)
}
