package feature

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// MobileNet is MobileNetV2 (Sandler et al., 2018) up to its pooled features,
// with batch normalisation folded into the convolutions.
type MobileNet struct {
	blocks    []mobileBlock
	variables weights.Set
}

// mobileBlock is an inverted residual block.
type mobileBlock struct {
	expands bool // the first block has no convolution that widens it
	in, out int
	wide    int // channels of the depthwise convolution
	stride  int
}

// mobileStrided lists the blocks that halve the picture.
var mobileStrided = []int{1, 3, 6, 13}

// mobileSize is the height and width of the pictures it was trained on.
const mobileSize = 224

func holdsMobileNet(file *safetensors.File) bool {
	_, err := file.Get("block.00.depthwise.weight")
	return err == nil
}

func newMobileNet(file *safetensors.File) (*MobileNet, error) {
	m := &MobileNet{variables: weights.Set{}}
	// read adds a convolution whose kernel is [size, size, in, out] and returns
	// its output channels.
	read := func(name, path string, size, in, out int) (int, error) {
		kernel, err := readConv(m.variables, file, name, path, 3, size, size, in, out)
		if err != nil {
			return 0, err
		}
		return kernel.Shape[3], nil
	}
	channels, err := read("stem", "stem", 3, 3, -1)
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		name, path := fmt.Sprintf("block.%02d", i), fmt.Sprintf("block%d", i)
		if _, err := file.Get(name + ".depthwise.weight"); err != nil {
			break
		}
		b := mobileBlock{in: channels, wide: channels, stride: 1}
		if slices.Contains(mobileStrided, i) {
			b.stride = 2
		}
		if _, err := file.Get(name + ".expand.weight"); err == nil {
			b.expands = true
			if b.wide, err = read(name+".expand", path+"/expand", 1, b.in, -1); err != nil {
				return nil, err
			}
		}
		if _, err = read(name+".depthwise", path+"/depthwise", 3, 1, b.wide); err != nil {
			return nil, err
		}
		if b.out, err = read(name+".project", path+"/project", 1, b.wide, -1); err != nil {
			return nil, err
		}
		m.blocks, channels = append(m.blocks, b), b.out
	}
	if len(m.blocks) != 17 {
		return nil, fmt.Errorf("MobileNetV2 has 17 blocks, the file %d", len(m.blocks))
	}
	_, err = read("head", "head", 1, channels, -1)
	return m, err
}

// Name is MobileNetV2.
func (m *MobileNet) Name() string { return "MobileNetV2" }

// Input asks for the size the network was trained on.
func (m *MobileNet) Input() Input { return Input{Size: mobileSize} }

// Variables returns the weights.
func (m *MobileNet) Variables() weights.Set { return m.variables }

// Features maps pictures x [B, 224, 224, 3] with values in [0, 1] to the pooled
// features [B, 1280]. Other sizes work, but were not trained on.
func (m *MobileNet) Features(v weights.Vars, x *Node) *Node {
	x = normalized(x, [3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}) // to [-1, 1]
	x = relu6(sameConvolve(v.In("stem"), x, 3, 2, 1))
	for i, b := range m.blocks {
		part, y := v.In("block%d", i), x
		if b.expands {
			y = relu6(convolve(part.In("expand"), y, nn.ConvOptions{}))
		}
		y = relu6(sameConvolve(part.In("depthwise"), y, 3, b.stride, b.wide))
		y = convolve(part.In("project"), y, nn.ConvOptions{})
		if b.stride == 1 && b.in == b.out {
			y = Add(x, y)
		}
		x = y
	}
	return ReduceMean(relu6(convolve(v.In("head"), x, nn.ConvOptions{})), 1, 2)
}

// sameConvolve pads as TensorFlow does: to ⌈size/stride⌉, an odd pixel at the end.
func sameConvolve(v weights.Vars, x *Node, size, stride, groups int) *Node {
	var padding [2][2]int
	for axis := range padding {
		in := x.Shape().Dim(axis + 1)
		total := max(0, (in+stride-1)/stride*stride-stride+size-in)
		padding[axis] = [2]int{total / 2, total - total/2}
	}
	return convolve(v, x, nn.ConvOptions{Stride: stride, Padding: padding, Groups: groups})
}

func relu6(x *Node) *Node { return MinScalar(MaxScalar(x, 0), 6) }
