package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// comparePlanOf parses a compare command line.
func comparePlanOf(t *testing.T, args ...string) (plan comparePlan, err error) {
	t.Helper()
	s, _, _ := silent()
	cmd := newCompareCommand(s, func(_ context.Context, _ *cli.Streams, o compareOptions) (err error) {
		plan, err = o.plan()
		return err
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"x.npy"}, args...))
	err = cmd.Execute()
	return plan, err
}

// Every method of the registry takes part in --methods all with the same budget
// and bits.
func TestAllMethodsAreCompared(t *testing.T) {
	for _, args := range [][]string{{"--codes", "256", "--levels", "4"}, {"--codes", "1024", "--levels", "1"}, {"--bits", "32"}} {
		plan, err := comparePlanOf(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := plan.cells("sha256:x", 512)
		if err != nil {
			t.Fatal(err)
		}
		if len(cells) != len(vq.MethodNames()) {
			t.Errorf("%v: %d cells for %d methods", args, len(cells), len(vq.MethodNames()))
		}
		for _, cell := range cells {
			if cell.Err != nil {
				t.Errorf("%v: %s: %v", args, cell.Method, cell.Err)
			}
			classical, c := vq.Classical(cell.Method), cell.Config
			if classical != (len(c.Model.Hidden) == 0) || classical == (c.Train.Steps == compareSteps) {
				t.Errorf("%v: %s has %d steps and the network %v", args, cell.Method, c.Train.Steps, c.Model.Hidden)
			}
			if c.Quantizer.Codes != plan.points[0].Codes || c.Quantizer.Levels*c.Quantizer.Parts != plan.points[0].Levels {
				t.Errorf("%v: %s has %d x %d x %d codes", args, cell.Method, c.Quantizer.Levels, c.Quantizer.Parts, c.Quantizer.Codes)
			}
		}
	}
}

func TestComparePlans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte("seed: 5\ntrain: {steps: 3000, batch: 77}\nquantizer: {method: ema, codes: 64}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, err := comparePlanOf(t, "--config", file, "--methods", "ste, grit,ste", "--seeds", "2", "--sweep", "levels=2,1,2", "--set", "train.clip_norm=3")
	if err != nil {
		t.Fatal(err)
	}
	points := []compare.Point{{Codes: 64, Levels: 1, Parts: 1}, {Codes: 64, Levels: 2, Parts: 1}}
	if !slices.Equal(plan.methods, []string{"ste", "grit"}) || !slices.Equal(plan.seeds, []uint64{5, 6}) || !slices.Equal(plan.points, points) {
		t.Errorf("the plan is %+v", plan)
	}
	c, err := plan.config("grit", points[1], 6)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := vqtrain.Default("grit")
	if err != nil {
		t.Fatal(err)
	}
	if c.Quantizer.Method != "grit" || c.Quantizer.Levels != 2 || c.Quantizer.Codes != 64 || c.Seed != 6 || c.Train.Steps != 3000 || c.Train.Batch != 77 || c.Train.ClipNorm != 3 ||
		c.Train.Rates != usual.Train.Rates || c.Quantizer.Transform.Kind != usual.Quantizer.Transform.Kind {
		t.Errorf("the configuration is %+v", c)
	}
}

// A comparison that is killed, then interrupted, ends with the records it had
// and leaves no work behind.
func TestKilledComparisonsGoOn(t *testing.T) {
	base := t.TempDir()
	vectors, dir := filepath.Join(base, "x.npy"), filepath.Join(base, "out")
	if err := writeVectors([]string{vectors, "1000", "16"}); err != nil {
		t.Fatal(err)
	}
	args := []string{"compare", vectors, "--methods", "ste,ema,grit", "--codes", "16", "--levels", "2", "--hidden", "32", "--dim", "8", "--steps", "300", "--batch", "64",
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
			return len(files("cells/*.json")) == finished && len(files("work/*/"+vqtrain.CheckpointFile)) == 1
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
	if state.ExitCode() != cli.ExitInterrupted || !strings.Contains(output, "gritvq: interrupted after 2 of 3 runs; repeat the command to continue\n") {
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
