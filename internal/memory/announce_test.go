package memory_test

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/memory"
)

func TestPlansAreAnnounced(t *testing.T) {
	type plan struct {
		what  string
		bytes int64
	}
	var plans []plan
	memory.Announce(func(what string, bytes int64) { plans = append(plans, plan{what, bytes}) })
	defer memory.Announce(nil)
	check := func(what string, bytes int) {
		t.Helper()
		if err := memory.Check(what, bytes); err != nil {
			t.Fatal(err)
		}
	}
	check("a crumb", 1000)
	if len(plans) != 0 {
		t.Fatalf("%v was announced", plans)
	}
	check("a table", 32<<20)
	check("a smaller table", 16<<20)
	if len(plans) != 1 || plans[0].what != "a table" || plans[0].bytes < 64<<20 {
		t.Fatalf("announced %v", plans)
	}
	held := make([]byte, 1<<30)
	check("a third table", 2<<20)
	if last := plans[len(plans)-1]; len(plans) != 2 || last.bytes < 2<<30 {
		t.Errorf("announced %v beside a gigabyte", plans)
	}
	runtime.KeepAlive(held)
	if err := memory.Check("everything", math.MaxInt/2, 2); err == nil || len(plans) != 2 {
		t.Errorf("what is refused was announced: %v", plans)
	}
}

func TestLimits(t *testing.T) {
	if os.Getenv("GRITVQ_LIMITED") == "" {
		before := debug.SetMemoryLimit(math.MaxInt64)
		defer debug.SetMemoryLimit(before)
		memory.Limit()
		if got := debug.SetMemoryLimit(-1); runtime.GOOS == "linux" && (got <= 0 || got >= memory.Available()) {
			t.Errorf("the limit is %d of %d bytes", got, memory.Available())
		}
		command := exec.Command(os.Args[0], "-test.run", "^TestLimits$")
		command.Env = append(os.Environ(), "GRITVQ_LIMITED=1", "GOMEMLIMIT=100MiB")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	memory.Limit()
	if got := debug.SetMemoryLimit(-1); got != 100<<20 {
		t.Errorf("the user's limit became %d", got)
	}
	if err := memory.Check("a table", 50<<20); err != nil {
		t.Error(err)
	}
	if err := memory.Check("a table", 101<<20); err == nil || !strings.Contains(err.Error(), "would take 101.0 MiB of memory and 9") {
		t.Errorf("got %v", err)
	}
}
