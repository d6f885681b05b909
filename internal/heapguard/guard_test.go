package heapguard

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The room is address space alone: neither live heap nor resident memory.
func TestEnsureTakesNoMemory(t *testing.T) {
	before := resident(t)
	Ensure()
	Ensure()
	runtime.GC() // garbage of other tests
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB of live heap are left", m.HeapAlloc>>20)
	}
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
	if idle := m.HeapIdle; runtime.GOARCH == "amd64" && simd && idle < 1<<29 {
		t.Errorf("only %d MiB of address space are kept", idle>>20)
	}
}

func resident(t *testing.T) int64 {
	t.Helper()
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("resident memory is not known on this system")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(content))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
