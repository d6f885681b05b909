package speed

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/weights"
)

func (b *bench) nearest(context.Context) ([]Row, error) {
	const n, d = 16384, 64
	rng := weights.Rand(1, "nearest")
	codes, err := index.NewCodes(weights.Normal(rng, 1, n, d).Data, n, d)
	if err != nil {
		return nil, err
	}
	x, out := weights.Normal(rng, 1, n, d).Data, make([]uint32, n)
	ours := func() (float64, error) {
		return fastest(2, func() error {
			codes.Nearest(x, n, out, nil, 0)
			return nil
		})
	}
	return b.times(b.faiss,
		race{"nearest code 16384 x 16384, d 64, against FAISS IndexFlatL2", "faiss_flat_l2_16384x16384x64_seconds", 1 / 1.5, ours},
		race{"the same against PyTorch matmul + argmin", "torch_matmul_argmin_16384x16384x64_seconds", 1 / 3.0, ours})
}

func (b *bench) encode(ctx context.Context) ([]Row, error) {
	const n, d, k, levels = 20000, 128, 256, 4
	x := weights.Normal(weights.Rand(1, "encode"), 1, n, d).Data
	var books []*index.Codes
	rest := slices.Clone(x)
	for l := range levels { // codebooks trained on residuals, as FAISS trains its own
		centers, _, err := index.KMeans(ctx, rest, n, d, k, index.KMeansOptions{Seed: uint64(l), Iterations: 5})
		if err != nil {
			return nil, err
		}
		book, err := index.NewCodes(centers, k, d)
		if err != nil {
			return nil, err
		}
		books = append(books, book)
		chosen := make([]uint32, n)
		book.Nearest(rest, n, chosen, nil, 0)
		for i, c := range chosen {
			for j, v := range book.Row(int(c)) {
				rest[i*d+j] -= v
			}
		}
	}
	stack, err := index.NewResidual(books...)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, n*levels)
	rate := func(beam, runs int) float64 {
		seconds, _ := fastest(runs, func() error {
			stack.Encode(x, n, levels, beam, out, 0)
			return nil
		})
		return n / seconds
	}
	greedy, beam := rate(1, 2*b.Rounds), rate(5, b.Rounds)
	peer, err := b.faiss()
	if err != nil {
		return []Row{{Name: "residual encode 4 x 256, 128-d", Reason: err.Error()}}, nil
	}
	faiss := peer["faiss_residual_4x8_128d_encode_20000"].(map[string]any)["default"].(map[string]any)["vectors_per_second"].(float64)
	return []Row{
		atLeast("greedy residual encode 4 x 256, 128-d, against FAISS at its default beam", greedy, faiss, 7),
		atLeast("the same with FAISS's beam of 5", beam, faiss, 2),
	}, nil
}

func atLeast(name string, ours, peer, limit float64) Row {
	return Row{Name: name, Ours: report.Short(ours, 3) + "/s", Peer: report.Short(peer, 3) + "/s", Ratio: ours / peer,
		Claim: fmt.Sprintf(">= %.3gx the rate", limit), Holds: ours/peer >= limit}
}

func (b *bench) convolution(ctx context.Context) ([]Row, error) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	defer backend.Finalize()
	repeat := func(times int, f func() error) func() (float64, error) {
		return func() (float64, error) { return fastest(times, f) }
	}
	return b.times(func() (map[string]any, error) { return b.peer(ctx, "torch_conv.py") },
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
