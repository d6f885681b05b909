package transform

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// BenchmarkOverhead times a training step (autoencoder 128-256-64, K = 1024
// codes of d = 64, straight-through, plain gradient step) with a transform
// against the same step without one. The two alternate, so that other load on
// the machine hits both; the fastest twentieth, the least disturbed runs, gives
// overhead-%.
func BenchmarkOverhead(b *testing.B) {
	for _, kind := range []Kind{KindLinear, KindAttentionTopK, KindLowRank, KindAttentionLowRank} {
		for _, batch := range []int{1024, 4096} {
			b.Run(fmt.Sprintf("%s/batch=%d", kind, batch), func(b *testing.B) {
				c := Default()
				c.Kind = kind
				with, without := newStep(b, c, batch), newStep(b, Config{Kind: KindIdentity, RowNorm: RowNormNone, Joint: true}, batch)
				var slow, fast []time.Duration
				for b.Loop() {
					slow = append(slow, with())
					fast = append(fast, without())
				}
				slices.Sort(slow)
				slices.Sort(fast)
				base := fast[len(fast)/20]
				b.ReportMetric(float64(base.Microseconds())/1e3, "ms-without")
				b.ReportMetric(100*(float64(slow[len(slow)/20])/float64(base)-1), "overhead-%")
			})
		}
	}
}

// newStep compiles a training step and returns a function that times one run.
func newStep(b *testing.B, c Config, batch int) func() time.Duration {
	const k, d, hidden, width = 1024, 64, 256, 128
	rng := rand.New(rand.NewPCG(1, 2))
	codes := weights.Normal(rng, 1, k, d)
	set, err := c.Init(codes, 1, rng)
	if err != nil {
		b.Fatal(err)
	}
	set["codes"] = codes
	set["encoder0"] = weights.Normal(rng, 0.1, width, hidden)
	set["encoder1"] = weights.Normal(rng, 0.1, hidden, d)
	set["decoder0"] = weights.Normal(rng, 0.1, d, hidden)
	set["decoder1"] = weights.Normal(rng, 0.1, hidden, width)
	paths := set.Paths()
	set["x"] = weights.Normal(rng, 1, batch, width)
	var args []any
	for _, path := range append(paths, "x") {
		args = append(args, tensors.FromFlatDataAndDimensions(set[path].Data, set[path].Shape...))
	}
	exec := graph.MustNewExec(gradtest.Engine(b), func(in []*graph.Node) []*graph.Node {
		nodes := map[string]*graph.Node{}
		var trained []*graph.Node
		for i, path := range paths {
			nodes[path] = in[i]
			if weights.GroupOf(path) != weights.State {
				trained = append(trained, in[i])
			}
		}
		gradients := graph.Gradient(autoencoderLoss(c, nodes, in[len(paths)]), trained...)
		for i, g := range gradients {
			gradients[i] = graph.Sub(trained[i], graph.MulScalar(g, 1e-3))
		}
		return gradients
	})
	run := func() time.Duration {
		start := time.Now()
		for _, t := range exec.MustCall(args...) {
			t.MustFinalizeAll()
		}
		return time.Since(start)
	}
	run()
	return run
}

func autoencoderLoss(c Config, nodes map[string]*graph.Node, x *graph.Node) *graph.Node {
	layer := func(x *graph.Node, name string) *graph.Node { return graph.Dot(x, nodes[name]).Product() }
	z := layer(graph.MaxScalar(layer(x, "encoder0"), 0.0), "encoder1")
	usable := c.Apply(weights.FromNodes(nodes), nodes["codes"])
	frozen := graph.StopGradient(usable)
	half := graph.InsertAxes(graph.MulScalar(graph.ReduceSum(graph.Square(frozen), -1), 0.5), 0)
	inner := graph.Dot(graph.StopGradient(z), frozen).General([]int{1}, nil, []int{1}, nil)
	hard := graph.Gather(usable, graph.InsertAxes(graph.ArgMin(graph.Sub(half, inner), -1), -1))
	soft := graph.Add(z, graph.StopGradient(graph.Sub(hard, z)))
	y := layer(graph.MaxScalar(layer(soft, "decoder0"), 0.0), "decoder1")
	return graph.Add(graph.ReduceAllMean(graph.Square(graph.Sub(y, x))),
		graph.ReduceAllMean(graph.Square(graph.Sub(hard, graph.StopGradient(z)))))
}
