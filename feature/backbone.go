package feature

import (
	"cmp"
	"errors"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// backbone is a sequence of stages; LPIPS compares the activations of some.
type backbone struct {
	name   string
	stages []stage
}

// stage is one step, numbered as in torchvision's "features".
type stage struct {
	kind            stageKind
	index           int
	in, out         int // channels; of a fire module, out is half squeezed to and half expanded to
	size            int // of the kernel or the pool's window
	stride, padding int
	squeezed        int  // channels between the halves of a fire module
	compared        bool // LPIPS reads the result
}

type stageKind int

const (
	convStage     stageKind = iota // convolution and ReLU
	fireStage                      // SqueezeNet's module: 1 x 1, then 1 x 1 and 3 x 3 side by side
	poolStage                      // maximum; windows over the end are left out
	ceilPoolStage                  // maximum; windows over the end count
)

func convAt(index, in, out, size, stride, padding int) stage {
	return stage{kind: convStage, index: index, in: in, out: out, size: size, stride: stride, padding: padding}
}

func fireAt(index, in, squeezed, out int) stage {
	return stage{kind: fireStage, index: index, in: in, out: out, squeezed: squeezed}
}

func poolAt(kind stageKind, size int) stage { return stage{kind: kind, size: size, stride: 2} }

func (s stage) comparedHere() stage { s.compared = true; return s }

// The three backbones of Zhang et al. (2018), as torchvision builds them.
var (
	squeezeNet = backbone{"SqueezeNet", []stage{
		convAt(0, 3, 64, 3, 2, 0).comparedHere(),
		poolAt(ceilPoolStage, 3), fireAt(3, 64, 16, 128), fireAt(4, 128, 16, 128).comparedHere(),
		poolAt(ceilPoolStage, 3), fireAt(6, 128, 32, 256), fireAt(7, 256, 32, 256).comparedHere(),
		poolAt(ceilPoolStage, 3), fireAt(9, 256, 48, 384).comparedHere(), fireAt(10, 384, 48, 384).comparedHere(),
		fireAt(11, 384, 64, 512).comparedHere(), fireAt(12, 512, 64, 512).comparedHere(),
	}}
	alexNet = backbone{"AlexNet", []stage{
		convAt(0, 3, 64, 11, 4, 2).comparedHere(),
		poolAt(poolStage, 3), convAt(3, 64, 192, 5, 1, 2).comparedHere(),
		poolAt(poolStage, 3), convAt(6, 192, 384, 3, 1, 1).comparedHere(),
		convAt(8, 384, 256, 3, 1, 1).comparedHere(), convAt(10, 256, 256, 3, 1, 1).comparedHere(),
	}}
	vgg16 = backbone{"VGG16", []stage{
		convAt(0, 3, 64, 3, 1, 1), convAt(2, 64, 64, 3, 1, 1).comparedHere(),
		poolAt(poolStage, 2), convAt(5, 64, 128, 3, 1, 1), convAt(7, 128, 128, 3, 1, 1).comparedHere(),
		poolAt(poolStage, 2), convAt(10, 128, 256, 3, 1, 1), convAt(12, 256, 256, 3, 1, 1), convAt(14, 256, 256, 3, 1, 1).comparedHere(),
		poolAt(poolStage, 2), convAt(17, 256, 512, 3, 1, 1), convAt(19, 512, 512, 3, 1, 1), convAt(21, 512, 512, 3, 1, 1).comparedHere(),
		poolAt(poolStage, 2), convAt(24, 512, 512, 3, 1, 1), convAt(26, 512, 512, 3, 1, 1), convAt(28, 512, 512, 3, 1, 1).comparedHere(),
	}}
)

// identifyBackbone finds the backbone of a file by tensors the others lack.
func identifyBackbone(file *safetensors.File) (backbone, error) {
	holds := func(name string, size int) bool {
		t, err := file.Get(name)
		return err == nil && len(t.Shape) == 4 && t.Shape[3] == size
	}
	switch {
	case holds("features.3.squeeze.weight", 1):
		return squeezeNet, nil
	case holds("features.0.weight", 11):
		return alexNet, nil
	case holds("features.28.weight", 3):
		return vgg16, nil
	}
	return backbone{}, errors.New("its tensors are not those of a network known here: MobileNetV2, or LPIPS over " +
		"torchvision's SqueezeNet 1.1, AlexNet or VGG16; give other networks as ONNX")
}

// read returns the backbone's variables.
func (b backbone) read(file *safetensors.File) (weights.Set, error) {
	set := weights.Set{}
	for _, s := range b.stages {
		name, path := fmt.Sprintf("features.%d", s.index), fmt.Sprintf("stage%d", s.index)
		var err error
		switch s.kind {
		case convStage:
			err = readTorchConv(set, file, name, path, s.in, s.out, s.size)
		case fireStage:
			err = cmp.Or(readTorchConv(set, file, name+".squeeze", path+"/squeeze", s.in, s.squeezed, 1),
				readTorchConv(set, file, name+".expand1x1", path+"/expand1x1", s.squeezed, s.out/2, 1),
				readTorchConv(set, file, name+".expand3x3", path+"/expand3x3", s.squeezed, s.out/2, 3))
		}
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// activations returns the activations LPIPS compares for x [B, H, W, 3], each
// [B, h, w, channels] in the element type of x.
func (b backbone) activations(v weights.Vars, x *Node) []*Node {
	var compared []*Node
	for _, s := range b.stages {
		part := v.In("stage%d", s.index)
		switch s.kind {
		case convStage:
			x = relu(convolve(part, x, nn.ConvOptions{Stride: s.stride, Padding: around(s.padding)}))
		case fireStage:
			squeezed := relu(convolve(part.In("squeeze"), x, nn.ConvOptions{}))
			x = Concatenate([]*Node{
				relu(convolve(part.In("expand1x1"), squeezed, nn.ConvOptions{})),
				relu(convolve(part.In("expand3x3"), squeezed, nn.ConvOptions{Padding: around(1)})),
			}, -1)
		case poolStage, ceilPoolStage:
			x = nn.MaxPool(x, s.size, s.stride, s.kind == ceilPoolStage)
		}
		if s.compared {
			compared = append(compared, x)
		}
	}
	return compared
}

// convolve applies the "kernel" and "bias" of a frozen convolution in the
// element type of x.
func convolve(v weights.Vars, x *Node, o nn.ConvOptions) *Node {
	return Add(nn.Convolve(x, frozen(v, "kernel", x), o), Reshape(frozen(v, "bias", x), 1, 1, 1, -1))
}

// frozen returns a variable that no gradient reaches.
func frozen(v weights.Vars, name string, like *Node) *Node {
	return ConvertDType(StopGradient(v.Get(name)), like.DType())
}

func around(pixels int) [2][2]int { return [2][2]int{{pixels, pixels}, {pixels, pixels}} }

func relu(x *Node) *Node { return MaxScalar(x, 0) }
