//go:build linux

package padding_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

const (
	large   = 4 << 30  // address space below the tensors, never touched
	growth  = 4 << 20  // the heap grows by multiples of it
	page    = 8 << 10  // of the runtime
	rows    = 1 << 17  // of a tensor of 12 MiB, so that nothing is left behind it
	columns = 16 + 8   // a whole vector and a part of one
	tail    = 16 << 20 // where the tensor goes, a multiple of growth
)

// Rows of 24 values end in a partial load. Here the last of them ends where the mapped heap ends: without padding the process
// dies, however large the heap is.
func TestLoadsAtTheEndOfALargeHeap(t *testing.T) {
	if os.Getenv("GRITVQ_LARGE_HEAP") == "" {
		command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		command.Env = append(os.Environ(), "GRITVQ_LARGE_HEAP=1")
		if output, err := command.CombinedOutput(); err != nil {
			head, _, _ := strings.Cut(string(output), "\n\n")
			t.Errorf("%v\n%s", err, head)
		}
		return
	}
	kept := [][]byte{make([]byte, large)} // first, while the memory is new and need not be zeroed
	backend := padded(t)
	shape := shapes.Make(dtypes.Float32, rows, columns)
	sample, _, err := backend.NewSharedBuffer(0, shape)
	if err != nil {
		t.Fatal(err)
	}
	taken := (cap(reflect.ValueOf(sample).Elem().FieldByName("RawBytes").Bytes()) + page - 1) / page * page
	sum := graph.MustNewExec(backend, func(x *graph.Node) *graph.Node { return graph.ReduceMax(x, 0) })
	sum.MustCall(tensors.FromShape(shape)) // has everything made that is not the tensor
	runtime.GC()

	last := make([]byte, tail)
	kept = append(kept, last, make([]byte, mappedEnd(t, last)-end(last)))
	hole := make([]byte, tail) // freed at once, and filled again below
	runtime.KeepAlive(hole)
	runtime.GC()
	kept = append(kept, make([]byte, tail-taken))
	x, err := tensors.FromShapeForBackend(backend, 0, shape)
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := x.Buffer(backend, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw := reflect.ValueOf(buffer).Elem().FieldByName("RawBytes").Bytes()
	if mapped := mappedEnd(t, raw); mapped-end(raw) > page {
		t.Fatalf("the tensor ends %d bytes before the heap", mapped-end(raw))
	}
	sum.MustCall(x)
	runtime.KeepAlive(kept)
}

func end(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) + uintptr(len(b)) }

// mappedEnd is where the memory that holds the end of a block stops being readable.
func mappedEnd(t *testing.T, block []byte) uintptr {
	t.Helper()
	file, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	last := end(block) - 1
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var from, to uintptr
		var mode string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); err != nil {
			t.Fatal(err)
		}
		if from <= last && last < to {
			return to
		}
	}
	t.Fatal("the block is not mapped")
	return 0
}
