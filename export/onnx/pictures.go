package onnx

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/nn"
	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// Networks of pictures work on [batch, channels, height, width], the order of ONNX.

// encodePictures maps pictures to latents [batch, rows, columns, dim].
func (n network) encodePictures(pixels string) string {
	c := n.spec.Model.Image
	x := n.scalar("Sub", n.scalar("Mul", n.float(pixels), 1/127.5), 1)
	x = n.channelsFirst(x)
	h := n.convolve(x, "encoder/input", 1)
	for i := range c.Widths {
		h = n.blocks(h, fmt.Sprintf("encoder/stage%d", i))
		if i < len(c.Widths)-1 {
			h = n.convolve(h, fmt.Sprintf("encoder/stage%d/down", i), n.stride(i))
		}
	}
	z := n.convolve(n.silu(n.norm(h, "encoder/norm")), "encoder/output", 1)
	if c.Linear {
		z = n.w.Apply("Add", z, n.squares(x))
	}
	return n.channelsLast(z)
}

// decodePictures maps quantized latents [batch, rows, columns, dim] to pictures, before and after they are rounded.
func (n network) decodePictures(latents string) (values, pixels string) {
	c := n.spec.Model.Image
	z := n.channelsFirst(latents)
	h := n.convolve(z, "decoder/input", 1)
	for i := range slices.Backward(c.Widths) {
		h = n.blocks(h, fmt.Sprintf("decoder/stage%d", i))
		if i > 0 {
			h = n.enlarge(h, fmt.Sprintf("decoder/stage%d/up", i), n.stride(i-1))
		}
	}
	x := n.convolve(n.silu(n.norm(h, "decoder/norm")), "decoder/output", 1)
	if c.Linear {
		squares := n.convolve(z, "decoder/linear", 1)
		x = n.w.Apply("Add", x, n.w.Node("DepthToSpace", []string{squares}, file.Attributes{"blocksize": c.Down(), "mode": "DCR"}))
	}
	values = n.w.Apply("Clip", n.scalar("Mul", n.scalar("Add", n.channelsLast(x), 1), 127.5), n.w.Float(0), n.w.Float(255))
	rounded := n.w.Apply("Floor", n.scalar("Add", values, 0.5))
	return values, n.w.Node("Cast", []string{rounded}, file.Attributes{"to": int(file.Uint8)})
}

func (n network) channelsFirst(x string) string {
	return n.transposed(x, 0, 3, 1, 2)
}

func (n network) channelsLast(x string) string {
	return n.transposed(x, 0, 2, 3, 1)
}

// stride is the factor between stages i and i+1 of the encoder.
func (n network) stride(i int) int {
	if strides := n.spec.Model.Image.Strides; len(strides) > 0 {
		return strides[i]
	}
	return 2
}

// arranged adds a kernel [height, width, a, b] with its axes in another order.
func (n network) arranged(name string, a *weights.Array, order ...int) string {
	shape, steps := make([]int, 4), make([]int, 4)
	for i, axis := range order {
		shape[i], steps[i] = a.Shape[axis], 1
		for _, size := range a.Shape[axis+1:] {
			steps[i] *= size
		}
	}
	values := make([]float32, 0, len(a.Data))
	for i := range shape[0] {
		for j := range shape[1] {
			for k := range shape[2] {
				for l := range shape[3] {
					values = append(values, a.Data[i*steps[0]+j*steps[1]+k*steps[2]+l*steps[3]])
				}
			}
		}
	}
	return n.w.Floats(name, shape, values)
}

// convolve applies the convolution at a path.
func (n network) convolve(x, at string, stride int) string {
	pad := nn.SamePadding(n.set[at+"/weights"].Shape[0], 1)
	return n.convolvePadded(x, at, stride, []int{pad[0][0], pad[1][0], pad[0][1], pad[1][1]})
}

// convolvePadded is convolve with zeros above, left, below and right.
func (n network) convolvePadded(x, at string, stride int, pads []int) string {
	kernel := n.set[at+"/weights"]
	inputs := []string{x, n.arranged(at+"/weights", kernel, 3, 2, 0, 1), n.variable(at, "bias")}
	return n.w.Node("Conv", inputs, file.Attributes{"kernel_shape": kernel.Shape[:2], "strides": []int{stride, stride}, "pads": pads})
}

// squares maps the square of pixels of every cell to its latent, linearly.
func (n network) squares(x string) string {
	down, matrix := n.spec.Model.Image.Down(), n.set["encoder/linear/weights"]
	kernel := &weights.Array{Shape: []int{down, down, 3, n.layout.Dim}, Data: matrix.Data}
	inputs := []string{x, n.arranged("encoder/linear/weights", kernel, 3, 2, 0, 1), n.variable("encoder/linear/bias")}
	return n.w.Node("Conv", inputs, file.Attributes{"kernel_shape": []int{down, down}, "strides": []int{down, down}})
}

// enlarge multiplies height and width.
func (n network) enlarge(x, at string, stride int) string {
	kernel := n.set[at+"/weights"]
	if n.spec.Model.Image.Up == "nearest" {
		scales := n.w.Floats("scales", []int{4}, []float32{1, 1, float32(stride), float32(stride)})
		x = n.w.Node("Resize", []string{x, "", scales}, file.Attributes{"mode": "nearest", "nearest_mode": "floor",
			"coordinate_transformation_mode": "asymmetric"})
		return n.convolve(x, at, 1)
	}
	before, after := stride/2, stride-stride/2
	inputs := []string{x, n.arranged(at+"/weights", kernel, 3, 2, 0, 1), n.variable(at, "bias")}
	return n.w.Node("ConvTranspose", inputs, file.Attributes{"kernel_shape": kernel.Shape[:2], "strides": []int{stride, stride},
		"pads": []int{before, before, after, after}})
}

// blocks are the residual blocks of a stage.
func (n network) blocks(x, stage string) string {
	for i := 0; n.set[fmt.Sprintf("%s/block%d/conv0/weights", stage, i)] != nil; i++ {
		at := fmt.Sprintf("%s/block%d", stage, i)
		h := n.convolve(n.silu(n.norm(x, at+"/norm0")), at+"/conv0", 1)
		x = n.w.Apply("Add", x, n.convolve(n.silu(n.norm(h, at+"/norm1")), at+"/conv1", 1))
	}
	return x
}

// norm is the GroupNorm at a path.
func (n network) norm(x, at string) string {
	channels := n.set[at+"/scale"].Shape[0]
	groups := nn.GroupNorm{Channels: channels, Groups: nn.ImageGroups}.Count()
	rows := n.w.Apply("Reshape", x, n.w.Ints(0, groups, -1))
	unit := n.w.Node("InstanceNormalization", []string{rows, n.w.Floats("ones", []int{groups}, weights.Full(1, groups).Data),
		n.w.Floats("zeros", []int{groups}, make([]float32, groups))}, file.Attributes{"epsilon": float32(nn.GroupNormEpsilon)})
	unit = n.w.Apply("Reshape", unit, n.w.Node("Shape", []string{x}, nil))
	along := func(name string) string {
		return n.w.Floats(at+"/"+name, []int{channels, 1, 1}, n.set[at+"/"+name].Data)
	}
	return n.w.Apply("Add", n.w.Apply("Mul", unit, along("scale")), along("bias"))
}
