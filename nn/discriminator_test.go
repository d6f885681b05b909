package nn

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Patches have the 16, 34 and 70 pixels of PatchGAN, about half a picture's width. Value and gradient are compared with
// PyTorch's in package vqtrain.
func TestPatchSizes(t *testing.T) {
	for layers, want := range map[int]int{1: 16, 2: 34, 3: 70} {
		field := 1
		for _, c := range slices.Backward(PatchDiscriminator{Width: 8, Layers: layers}.convs()) {
			field = (field-1)*max(1, c.Stride) + c.Kernel
		}
		if field != want {
			t.Errorf("%d layers judge patches of %d pixels, want %d", layers, field, want)
		}
	}
	for size, want := range map[int]int{11: 1, 32: 1, 64: 2, 96: 2, 128: 3, 256: 3, 512: 3} {
		if got := PatchLayers(size); got != want {
			t.Errorf("%d px: %d layers, want %d", size, got, want)
		}
	}
}

// One judgement a patch, also of pictures whose sides are odd, in half precision too, and a picture's judgement does not
// depend on the others of its batch.
func TestPatchDiscriminatorJudgesPicturesAlone(t *testing.T) {
	defer func() { halfEverywhere = false }()
	d := PatchDiscriminator{Width: 8, Layers: 2}
	in := asInputs(d.Init(weights.Rand(1, "patch")), 0.05)
	rng := weights.Rand(2, "patch")
	in["x"] = gaussian(rng, 3, 18, 13, 3)
	judge := func(in gradtest.Inputs) []float64 {
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			y := d.Build(weights.FromNodes(nodes), nodes["x"])
			if got := y.Shape().Dimensions; !slices.Equal(got, []int{nodes["x"].Shape().Dim(0), 5, 4, 1}) || y.DType() != dtypes.Float32 {
				t.Errorf("judgements have shape %s", y.Shape())
			}
			return []*graph.Node{y}
		})[0]
	}
	together := judge(in)
	pixels := in["x"].Data
	in["x"] = gradtest.Value{Shape: []int{1, 18, 13, 3}, Data: pixels[18*13*3 : 2*18*13*3]}
	gradtest.Close(t, "the second picture alone", judge(in), together[20:40], 1e-5)
	halfEverywhere, d.DType = true, dtypes.BFloat16
	gradtest.Close(t, "in half precision", judge(in), together[20:40], 0.05)
}
