package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/train"
)

// endsWithin bounds the time from SIGTERM to the end, on a machine that does other things too. The phases below take
// minutes, and after one minute the program would leave without its work being ended.
const endsWithin = 20 * time.Second

// Phases that take long end soon after a signal: graphs of many levels, the linear path of pictures, evaluations, scans
// of data and searches of a fit.
func TestLongPhasesEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for long phases to begin")
	}
	for name, c := range map[string]struct {
		command string
		after   time.Duration // 0: when there is a checkpoint
	}{
		"graph": {"synthetic:mixture?rows=500 --codes 8 --hidden 8 --dim 4 --steps 5 --set train.choose=[] " +
			"--set quantizer.levels=3000", 2 * time.Second},
		"linear path": {"synthetic:scenes?images=300 --size 64 --down 32 --width 8,8,8,8,8,8 --codes 16 --dim 1600 --steps 5", 3 * time.Second},
		"evaluation": {"synthetic:mixture?rows=100 --val synthetic:mixture?rows=2000000 --codes 8 --levels 1 --hidden 1024,1024 " +
			"--dim 4 --steps 3 --set train.evaluate=2 --set train.choose=[]", 0},
		"scan":   {"synthetic:mixture?rows=100000000 --codes 8 --levels 1", time.Second},
		"search": {"synthetic:mixture?rows=200000&dim=64 --codes 1024 --levels 4 --method rq", 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tok")
			saved := exists(filepath.Join(dir, train.CheckpointFile))
			var begun, signal time.Time
			said, code := signalled(t, append([]string{"train", "-o", dir}, strings.Fields(c.command)...), syscall.SIGTERM, 1, func() bool {
				if begun.IsZero() {
					begun = time.Now()
				}
				signal = time.Now()
				return c.after > 0 && time.Since(begun) > c.after || c.after == 0 && saved()
			})
			if took := time.Since(signal); code != cli.ExitTerminated || took > endsWithin {
				t.Errorf("ended after %v with exit code %d\n%s", took, code, said)
			}
			if name == "evaluation" && (!saved() || !strings.Contains(said, "interrupted at step 1 of 3; repeat the command with --resume")) {
				t.Errorf("a broken evaluation said: %s", said)
			}
		})
	}
}
