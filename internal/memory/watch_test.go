package memory_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gritvq/gritvq/internal/memory"
)

// pile holds more and more, in pieces too small to be weighed, until it is large enough or the time is over.
func pile(enough func() bool, most int) {
	var pieces [][]byte
	for begun := time.Now(); !enough() && len(pieces) < most>>18 && time.Since(begun) < time.Minute; {
		pieces = append(pieces, make([]byte, 1<<18))
		if len(pieces)%64 == 0 {
			time.Sleep(time.Millisecond) // the watch is another goroutine
		}
	}
	runtime.KeepAlive(pieces)
}

func TestWhatNobodyWeighedIsAnnounced(t *testing.T) {
	var told atomic.Int64
	memory.Announce(func(_ string, bytes int64) { told.Store(bytes) })
	defer memory.Announce(nil)
	stop := memory.Watch(func(err error) { t.Errorf("the memory is full: %v", err) })
	defer stop()
	pile(func() bool { return told.Load() >= 1<<30 }, 1<<30)
	if got := told.Load(); got < 1<<30 {
		t.Errorf("announced %d bytes while a gigabyte was piled up", got)
	}
}

func TestFullMemoryIsNoticed(t *testing.T) {
	if os.Getenv("GRITVQ_FULL") == "" {
		command := exec.Command(os.Args[0], "-test.run", "^TestFullMemoryIsNoticed$")
		command.Env = append(os.Environ(), "GRITVQ_FULL=1", "GOMEMLIMIT=100MiB")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	var full atomic.Bool
	stop := memory.Watch(func(err error) { full.Store(errors.Is(err, memory.ErrFull)) })
	defer stop()
	pile(full.Load, 50<<20)
	if full.Load() {
		t.Error("half of the memory was called full")
	}
	if pile(full.Load, 1<<30); !full.Load() {
		t.Error("nothing was said of ten times the limit")
	}
}
