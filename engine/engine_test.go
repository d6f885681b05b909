package engine

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/internal/usage"
)

// matrices are as large as in a training step.
func matrices() (x, w *tensors.Tensor) {
	values := func(rows, columns int) *tensors.Tensor {
		flat := make([]float32, rows*columns)
		for i := range flat {
			flat[i] = float32(i%97)/97 - 0.5
		}
		return tensors.FromFlatDataAndDimensions(flat, rows, columns)
	}
	return values(2048, 256), values(256, 256)
}

// chain multiplies again and again, so that one operation at a time is ready.
func chain(x, w *graph.Node) *graph.Node {
	for range 24 {
		x = graph.Tanh(graph.Dot(x, w).Product())
	}
	return graph.ReduceAllSum(x)
}

// However many executors there are, the engine computes the same bits.
func TestExecutorsDoNotChangeResults(t *testing.T) {
	result := func(backend compute.Backend, err error) float32 {
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Finalize()
		x, w := matrices()
		out, err := graph.CallOnce(backend, chain, x, w)
		if err != nil {
			t.Fatal(err)
		}
		return out.Value().(float32)
	}
	want := result(compute.NewWithConfig(Embedded))
	if got := result(Open(Embedded)); got != want {
		t.Errorf("%v, the engine as it comes computes %v", got, want)
	}
	for executors := range 5 {
		if got := result(Open(fmt.Sprintf("%s:num_executors=%d", Embedded, executors+1))); got != want {
			t.Errorf("%d executors compute %v, want %v", executors+1, got, want)
		}
	}
}

// The embedded engine takes as many executors as the program has threads now,
// unless it is told how many.
func TestEmbeddedEngineFollowsTheThreads(t *testing.T) {
	executors := func(config string) int64 {
		backend, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Finalize()
		return reflect.ValueOf(backend).Elem().FieldByName("NumExecutors").Int()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, threads := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(threads)
		if got := executors(Embedded); got != int64(threads) {
			t.Errorf("%d executors for %d threads", got, threads)
		}
	}
	if got := executors(Embedded + ":num_executors=5"); got != 5 {
		t.Errorf("%d executors instead of 5", got)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, config := range []string{"nothing", "go:threads=3"} {
		if _, err := Open(config); err == nil {
			t.Errorf("%q was opened", config)
		}
	}
}

// BenchmarkOpen compares the engine as it comes with ours.
func BenchmarkOpen(b *testing.B) {
	for name, open := range map[string]func() (compute.Backend, error){
		"as-it-comes": func() (compute.Backend, error) { return compute.NewWithConfig(Embedded) },
		"tuned":       func() (compute.Backend, error) { return Open(Embedded) },
	} {
		b.Run(fmt.Sprintf("%s/threads%d", name, runtime.GOMAXPROCS(0)), func(b *testing.B) {
			backend, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer backend.Finalize()
			x, w := matrices()
			program := graph.MustNewExec(backend, chain)
			for b.Loop() {
				program.MustCall(x, w)[0].MustFinalizeAll()
			}
		})
	}
}

// An engine of a device is started once, and again after its end.
func TestDevicesAreShared(t *testing.T) {
	var s shared
	first, err := s.open(Embedded)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.open(Embedded); err != nil || again != first {
		t.Errorf("a second engine was started, %v", err)
	}
	first.Finalize()
	if other, err := s.open(Embedded); err != nil || other == first || other.IsFinalized() {
		t.Errorf("an engine that has ended is given again, %v", err)
	}
	if _, err := s.open("none"); err == nil {
		t.Error("an engine that does not exist was started")
	}
}

func TestBackendNames(t *testing.T) {
	for value, want := range map[string]string{"tpu": `unknown backend "tpu"`, "go:fast": "takes no options", "": `unknown backend ""`} {
		_, err := Choose(value)
		if _, usage := errors.AsType[usage.Error](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v", value, err)
		}
	}
	if _, err := Choose("xla"); !XLA && (err == nil || !strings.Contains(err.Error(), "-tags xla")) {
		t.Errorf("xla gave %v", err)
	}
}
