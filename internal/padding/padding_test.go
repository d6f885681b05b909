package padding_test

import (
	"reflect"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/compute/support"
	"github.com/gritvq/gritvq/internal/padding"
)

func padded(t *testing.T) compute.Backend {
	t.Helper()
	backend, err := compute.NewWithConfig("go")
	if err == nil {
		err = padding.Add(backend)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Finalize)
	return backend
}

// Buffers of any length have room behind them, new ones and those that were used before.
func TestEveryBufferIsPadded(t *testing.T) {
	backend := padded(t)
	if err := padding.Add(backend); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for _, length := range []int{0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 1 << 10, 3 << 10, 1<<20 + 1, 3 << 20} {
			buffer, flat, err := backend.NewSharedBuffer(0, shapes.Make(dtypes.Uint8, length))
			if err != nil {
				t.Fatal(err)
			}
			raw := reflect.ValueOf(buffer).Elem().FieldByName("RawBytes").Bytes()
			if got := len(flat.([]uint8)); got != length {
				t.Errorf("%d elements, want %d", got, length)
			}
			if want := support.TwoBitBucketLen(length); len(raw) != want {
				t.Errorf("%d bytes for %d elements, want %d", len(raw), length, want)
			}
			if behind := cap(raw) - length; behind < padding.Bytes {
				t.Errorf("round %d: %d elements have %d bytes behind them", round, length, behind)
			}
			if err := buffer.Finalize(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
