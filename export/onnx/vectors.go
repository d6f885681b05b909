package onnx

import "fmt"

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
		z = n.w.Apply("MatMul", z, n.transposed(n.variable("state/rotation"), 1, 0))
	}
	x := n.refined(n.layers("decoder", z))
	return n.w.Apply("Add", n.w.Apply("Mul", x, n.variable("state/scale")), n.variable("state/mean"))
}

// refined adds the network that refines the vectors of codes, where there is one.
func (n network) refined(z string) string {
	const at = "decoder/refine"
	if n.set[at+"/v"] == nil {
		return z
	}
	hidden := n.activation("relu", n.w.Apply("Add", n.product(z, at, "v"), n.variable(at, "bias")))
	return n.w.Apply("Add", z, n.w.Apply("Add", n.product(hidden, at, "u"), n.variable(at, "shift")))
}

// layers are the dense layers below a path.
func (n network) layers(at, x string) string {
	for i := 0; n.set[fmt.Sprintf("%s/layer%d/weights", at, i)] != nil; i++ {
		if i > 0 {
			x = n.activation(n.spec.Model.Activation, x)
		}
		layer := fmt.Sprintf("%s/layer%d", at, i)
		x = n.w.Apply("Add", n.product(x, layer, "weights"), n.variable(layer, "bias"))
	}
	return x
}
