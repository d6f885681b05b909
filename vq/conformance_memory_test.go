package vq

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A training step of every method over 65536 codes, with the gradients of all
// that is trained, takes less than one array of a score for every latent and code
// would, and where all codes share in the choice, with their parameters' gradients
// through it, less than three. Written over such arrays that would take a dozen.
func TestConformanceOfMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const dim, codes = 4, 1 << 16
	for _, method := range MethodNames() {
		t.Run(method, func(t *testing.T) {
			n, arrays := 512, uint64(1)
			if slices.Contains(chosenMethods, method) {
				n, arrays = 256, 3
			}
			limit := arrays * uint64(n) * codes * 4
			c := mustDefaults(t, method)
			c.Codes, c.Levels, c.Parts, c.Start.From = codes, 1, 1, "data"
			f := newFixture(t, c, dim, n)
			in := f.inputs()
			trained := []string{"z"}
			for _, path := range f.set.Paths() {
				if group := weights.GroupOf(path); group != weights.State && !Frozen(f.q, group) {
					trained = append(trained, path)
				}
			}
			used := peak(func() {
				got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					out := f.q.Build(noisyStep(nodes, 1), nodes["z"])
					loss := graph.Add(graph.ReduceAllSum(graph.Square(out.Soft)), out.Loss)
					return graph.Gradient(loss, nodesOf(nodes, trained)...)
				})
				for i, gradient := range got {
					if sum := dot(gradient, gradient); !(sum > 0) || math.IsInf(sum, 0) {
						t.Errorf("the gradient of %s has squared size %v", trained[i], sum)
					}
				}
			})
			t.Logf("%d MiB of %d", used>>20, limit>>20)
			if used > limit {
				t.Errorf("a step needs %d MiB, more than %d", used>>20, limit>>20)
			}
		})
	}
}
