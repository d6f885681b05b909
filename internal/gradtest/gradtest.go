// Package gradtest checks gradients of graph code against closed forms and
// central finite differences computed in float64 on the host.
package gradtest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"sort"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/engine"
)

// Inputs are named arrays: the values a graph function is evaluated at.
type Inputs map[string]Value

// Value is one named input, row-major.
type Value struct {
	Shape []int
	Data  []float64
}

// Names lists the inputs in a fixed order.
func (in Inputs) Names() []string {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Function builds a scalar from named nodes.
type Function func(in map[string]*graph.Node) *graph.Node

// Engine returns the engine under test, shared by all tests of a process: the
// embedded pure-Go backend, or the one that the environment variable
// GRITVQ_TEST_BACKEND names (XLA in tests built with -tags xla).
func Engine(tb testing.TB) compute.Backend {
	tb.Helper()
	b, err := shared()
	if err != nil {
		tb.Fatalf("starting the engine: %v", err)
	}
	return b
}

// Embedded says whether tests run on the embedded engine, whose sums always have
// the same order.
func Embedded() bool { return os.Getenv("GRITVQ_TEST_BACKEND") == "" }

var shared = sync.OnceValues(func() (compute.Backend, error) {
	return engine.Open(cmp.Or(os.Getenv("GRITVQ_TEST_BACKEND"), engine.Embedded))
})

// Float is an element type the embedded engine differentiates.
type Float interface{ float32 | float64 }

// Eval runs graph code that returns any number of nodes and gives their values
// back as float64.
func Eval[T Float](tb testing.TB, in Inputs, fn func(in map[string]*graph.Node) []*graph.Node) [][]float64 {
	tb.Helper()
	names := in.Names()
	args := make([]any, len(names))
	for i, name := range names {
		v := in[name]
		data := make([]T, len(v.Data))
		for j, x := range v.Data {
			data[j] = T(x)
		}
		args[i] = tensors.FromFlatDataAndDimensions(data, v.Shape...)
	}
	results, err := graph.CallOnceN(Engine(tb), func(nodes []*graph.Node) []*graph.Node {
		named := make(map[string]*graph.Node, len(nodes))
		for i, n := range nodes {
			named[names[i]] = n
		}
		return fn(named)
	}, args...)
	if err != nil {
		tb.Fatalf("running the graph: %v", err)
	}
	out := make([][]float64, len(results))
	for i, r := range results {
		r.MustConstFlatData(func(flat any) { out[i] = toFloat64(tb, flat) })
	}
	return out
}

func toFloat64(tb testing.TB, flat any) []float64 {
	tb.Helper()
	var out []float64
	switch flat := flat.(type) {
	case []float32:
		for _, x := range flat {
			out = append(out, float64(x))
		}
	case []float64:
		out = append(out, flat...)
	case []int32:
		for _, x := range flat {
			out = append(out, float64(x))
		}
	default:
		tb.Fatalf("unexpected element type %T", flat)
	}
	return out
}

// Autodiff returns the engine's gradient of fn with respect to every input.
func Autodiff[T Float](tb testing.TB, in Inputs, fn Function) map[string][]float64 {
	tb.Helper()
	names := in.Names()
	values := Eval[T](tb, in, func(nodes map[string]*graph.Node) []*graph.Node {
		wrt := make([]*graph.Node, len(names))
		for i, name := range names {
			wrt[i] = nodes[name]
		}
		return graph.Gradient(fn(nodes), wrt...)
	})
	grads := make(map[string][]float64, len(names))
	for i, name := range names {
		grads[name] = values[i]
	}
	return grads
}

// FiniteDifference returns central differences of a host function with respect
// to the named input. The function must not keep its argument.
func FiniteDifference(in Inputs, name string, fn func(Inputs) float64) []float64 {
	v := in[name]
	grad := make([]float64, len(v.Data))
	for i, x := range v.Data {
		step := 1e-5 * math.Max(1, math.Abs(x))
		v.Data[i] = x + step
		up := fn(in)
		v.Data[i] = x - step
		down := fn(in)
		v.Data[i] = x
		grad[i] = (up - down) / (2 * step)
	}
	return grad
}

// RelativeError is |a-b| / max(|a|, |b|, floor) in the Euclidean norm, where the
// floor keeps two vanishing gradients from comparing as different.
func RelativeError(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var diff, na, nb float64
	for i := range a {
		diff += (a[i] - b[i]) * (a[i] - b[i])
		na += a[i] * a[i]
		nb += b[i] * b[i]
	}
	return math.Sqrt(diff) / math.Max(1e-9, math.Sqrt(math.Max(na, nb)))
}

// Close fails the test when two gradients differ by more than tolerance.
func Close(tb testing.TB, what string, got, want []float64, tolerance float64) {
	tb.Helper()
	if e := RelativeError(got, want); !(e <= tolerance) {
		tb.Errorf("%s: relative error %.3g above %.3g\n got  %s\n want %s", what, e, tolerance, head(got), head(want))
	}
}

func head(v []float64) string {
	if len(v) > 8 {
		return fmt.Sprintf("%.6g …", v[:8])
	}
	return fmt.Sprintf("%.6g", v)
}
