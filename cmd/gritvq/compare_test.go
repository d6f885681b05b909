package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/train"
)

// A comparison that is killed, then interrupted, ends with the records it had
// and leaves no work behind.
func TestKilledComparisonsGoOn(t *testing.T) {
	base := t.TempDir()
	vectors, dir := filepath.Join(base, "x.npy"), filepath.Join(base, "out")
	if err := writeVectors([]string{vectors, "1000", "16"}); err != nil {
		t.Fatal(err)
	}
	args := []string{"compare", vectors, "--methods", "ste,ema,grit", "--codes", "16", "--levels", "2", "--hidden", "32", "--dim", "8",
		"--steps", "300", "--batch", "64",
		"--set", "train.checkpoint=10", "-o", dir}
	files := func(pattern string) []string {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	halfway := func(finished int) func() bool {
		return func() bool {
			return len(files("cells/*.json")) == finished && len(files("work/*/"+train.CheckpointFile)) == 1
		}
	}
	if output, state := signalWhen(t, args, syscall.SIGKILL, halfway(1)); state.Success() {
		t.Fatalf("the comparison ended before it could be killed:\n%s", output)
	}
	first := files("cells/*.json")[0]
	want, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	output, state := signalWhen(t, args, syscall.SIGINT, halfway(2))
	if state.ExitCode() != cli.ExitInterrupted || !strings.Contains(output,
		"gritvq: interrupted after 2 of 3 runs; repeat the command to continue\n") {
		t.Fatalf("exit code %d:\n%s", state.ExitCode(), output)
	}
	runToEnd(t, args)
	if got, err := os.ReadFile(first); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the first record changed: %v", err)
	}
	if cells := files("cells/*"); len(cells) != 3 || len(files("work")) != 0 || len(files(compare.PageFile)) != 1 {
		t.Errorf("left behind: %s", fmt.Sprint(cells, files("*")))
	}
}
