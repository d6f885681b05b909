package speed

import (
	"context"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

func (b *bench) convolution(ctx context.Context) ([]Row, error) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	defer backend.Finalize()
	repeat := func(times int, f func() error) func() (float64, error) {
		return func() (float64, error) { return fastest(times, f) }
	}
	return b.times(b.script(ctx, "torch_conv.py"),
		race{"3 x 3 convolution, 8 x 64 x 64 x 32 -> 64, and gradients, against PyTorch", "stride1", 3, repeat(20, convolutionRun(backend, 1))},
		race{"the same at stride 2", "stride2", 3, repeat(20, convolutionRun(backend, 2))},
		race{"64 px autoencoder 32-64-128, batch 32, and gradients, against PyTorch", "autoencoder", 1.5, repeat(3, autoencoderRun(backend))})
}

func convolutionRun(backend compute.Backend, stride int) func() error {
	conv := nn.Conv{In: 32, Out: 64, Kernel: 3, Stride: stride}
	rng := weights.Rand(1, "bench")
	set := conv.Init(rng)
	set["x"] = weights.Normal(rng, 1, 8, 64, 64, 32)
	adjoint := weights.Normal(rng, 1, 8, 64/stride, 64/stride, 64)
	return gradientRun(backend, set, adjoint, func(v weights.Vars, adjoint *graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Mul(conv.Build(v, v.Get("x")), adjoint))
	})
}

func autoencoderRun(backend compute.Backend) func() error {
	widths := []int{32, 64, 128}
	encoder := nn.ImageEncoder{Widths: widths, Blocks: 1, Dim: 32}
	decoder := nn.ImageDecoder{Widths: widths, Blocks: 1, Dim: 32, Up: "transposed"}
	rng := weights.Rand(1, "bench")
	set := weights.Set{}.Merge("encoder", encoder.Init(rng)).Merge("decoder", decoder.Init(rng))
	return gradientRun(backend, set, weights.Normal(rng, 1, 32, 64, 64, 3), func(v weights.Vars, x *graph.Node) *graph.Node {
		y := decoder.Build(v.In("decoder"), encoder.Build(v.In("encoder"), x))
		return graph.ReduceAllMean(graph.Square(graph.Sub(y, x)))
	})
}

// gradientRun returns a function that computes the gradients of a loss with respect to all variables.
func gradientRun(backend compute.Backend, variables weights.Set, data *weights.Array,
	loss func(v weights.Vars, data *graph.Node) *graph.Node) func() error {
	paths := variables.Paths()
	args := []any{tensors.FromFlatDataAndDimensions(data.Data, data.Shape...)}
	for _, p := range paths {
		args = append(args, tensors.FromFlatDataAndDimensions(variables[p].Data, variables[p].Shape...))
	}
	step := graph.MustNewExec(backend, func(nodes []*graph.Node) []*graph.Node {
		named := map[string]*graph.Node{}
		for i, p := range paths {
			named[p] = nodes[i+1]
		}
		return graph.Gradient(loss(weights.FromNodes(named), nodes[0]), nodes[1:]...)
	})
	return func() error {
		gradients, err := step.Call(args...)
		if err != nil {
			return err
		}
		for _, g := range gradients {
			if err := g.FinalizeAll(); err != nil {
				return err
			}
		}
		return nil
	}
}
