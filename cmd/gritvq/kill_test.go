package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/train"
)

// killArguments train a tokenizer with everything that has state: warm-up,
// resets, averaged weights, a cached codebook, dropped levels, early stopping.
func killArguments(vectors, dir string) []string {
	args := []string{"train", vectors, "-o", dir, "--codes", "32", "--levels", "2", "--hidden", "32", "--dim", "8",
		"--steps", "1000", "--batch", "64"}
	for _, set := range []string{"quantizer.cache.period=4", "quantizer.dropout=0.3", "train.average=0.99", "quantizer.start.from=random",
		"quantizer.resets.every=20", "train.checkpoint=10", "train.log=10", "train.evaluate=50", "train.patience=50"} {
		args = append(args, "--set", set)
	}
	return args
}

// runToEnd runs gritvq and fails the test unless it succeeds.
func runToEnd(t *testing.T, args []string) {
	t.Helper()
	if output, err := exec.Command("gritvq", args...).CombinedOutput(); err != nil {
		t.Fatalf("gritvq %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// signalWhen starts gritvq, sends it a signal as soon as the moment has come,
// and returns its output and exit status.
func signalWhen(t *testing.T, args []string, signal os.Signal, moment func() bool) (output string, state *os.ProcessState) {
	t.Helper()
	var text bytes.Buffer
	cmd := exec.Command("gritvq", args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for !moment() {
		select {
		case <-ended:
			return text.String(), cmd.ProcessState
		case <-ctx.Done():
			cmd.Process.Kill()
			<-ended
			t.Fatalf("the moment to kill never came:\n%s", text.String())
		default:
		}
	}
	cmd.Process.Signal(signal)
	<-ended
	return text.String(), cmd.ProcessState
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// logged waits for a number of records beyond those that are there.
func logged(dir string, more int) func() bool {
	count := func() int {
		content, _ := os.ReadFile(filepath.Join(dir, bundle.LogFile))
		return bytes.Count(content, []byte("\n"))
	}
	start := count()
	return func() bool { return count() >= start+more }
}

// writingCheckpoint is while the temporary file of a checkpoint is there.
func writingCheckpoint(dir string) func() bool {
	return func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "."+train.CheckpointFile+".*.tmp"))
		return len(found) > 0
	}
}

func TestKilledRunsEndAsUninterruptedOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process several times")
	}
	base := t.TempDir()
	vectors := filepath.Join(base, "x.npy")
	if err := writeVectors([]string{vectors, "2000", "16"}); err != nil {
		t.Fatal(err)
	}
	whole, broken := filepath.Join(base, "whole"), filepath.Join(base, "broken")
	runToEnd(t, killArguments(vectors, whole))

	resume := append(killArguments(vectors, broken), "--resume")
	duringWrite := false
	for i, moment := range []func() func() bool{
		func() func() bool { return exists(filepath.Join(broken, bundle.LogFile)) },
		func() func() bool { return exists(filepath.Join(broken, train.CheckpointFile)) },
		func() func() bool { return logged(broken, 4) },
		func() func() bool {
			end := time.Now().Add(60 * time.Millisecond)
			return func() bool { return time.Now().After(end) }
		},
		nil, // during the write of a checkpoint, below
	} {
		if moment != nil {
			output, state := signalWhen(t, resume, syscall.SIGKILL, moment())
			if state.Success() {
				t.Fatalf("the run ended before it could be killed for the %dth time:\n%s", i+1, output)
			}
			continue
		}
		// A write takes less than a millisecond, so the signal may come late:
		// the file it leaves behind is the proof, and otherwise the next one
		// is tried.
		for attempt := 0; attempt < 20 && !duringWrite; attempt++ {
			if _, state := signalWhen(t, resume, syscall.SIGKILL, writingCheckpoint(broken)); state.Success() {
				break
			}
			duringWrite = writingCheckpoint(broken)()
		}
	}
	if !duringWrite {
		t.Error("no kill hit a checkpoint while it was written")
	}
	runToEnd(t, resume)
	if b, err := bundle.Load(broken); err != nil || b.Manifest.Training.Resumed == 0 {
		t.Errorf("the last session did not go on from a checkpoint (%v)", err)
	}
	for _, name := range []string{bundle.ModelFile, bundle.LogFile, bundle.ConfigFile} {
		want, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(broken, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from that of the uninterrupted run", name)
		}
	}
	entries, err := os.ReadDir(broken)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") || e.Name() == train.CheckpointFile {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// A run that chooses its settings is killed while its start is in use, in a trial and
// while it trains; the start encodes, and the run ends as an uninterrupted one.
func TestKilledChoicesEndAsUninterruptedOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process several times")
	}
	base, vectors := t.TempDir(), "synthetic:manifold?rows=3000"
	arguments := func(dir string) []string {
		return []string{"train", vectors, "-o", dir, "--codes", "32", "--levels", "3", "--batch", "128", "--steps", "120",
			"--set", "train.checkpoint=5", "--set", "train.log=5", "--set", "quantizer.search=beam"} // training improves on that start
	}
	whole, broken := filepath.Join(base, "whole"), filepath.Join(base, "broken")
	runToEnd(t, arguments(whole))
	if b, err := bundle.Load(whole); err != nil || b.Manifest.Training.Choice == nil || b.Manifest.Training.Choice.Kept {
		t.Fatalf("the start was kept, so resuming the last part is untested (%v)", err)
	}
	resume := append(arguments(broken), "--resume")
	for _, moment := range []string{"start/manifest.json", "trials/0/checkpoint.safetensors", "trials/1/checkpoint.safetensors",
		train.CheckpointFile} {
		if output, state := signalWhen(t, resume, syscall.SIGKILL, exists(filepath.Join(broken, moment))); state.Success() {
			t.Fatalf("the run ended before it could be killed at %s:\n%s", moment, output)
		}
		runToEnd(t, []string{"encode", filepath.Join(broken, bundle.StartDir), vectors, "-o", filepath.Join(base, "codes.npy")})
	}
	runToEnd(t, resume)
	for _, name := range []string{bundle.ModelFile, bundle.LogFile, bundle.ConfigFile} {
		want, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(broken, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from that of the uninterrupted run, %v", name, err)
		}
	}
	for _, left := range []string{bundle.StartDir, bundle.TrialsDir, train.CheckpointFile} {
		if exists(filepath.Join(broken, left))() {
			t.Errorf("%s was left behind", left)
		}
	}
}

func TestCtrlCSavesAndCanBeResumed(t *testing.T) {
	base := t.TempDir()
	vectors := filepath.Join(base, "x.npy")
	if err := writeVectors([]string{vectors, "2000", "16"}); err != nil {
		t.Fatal(err)
	}
	for signal, code := range map[os.Signal]int{syscall.SIGINT: cli.ExitInterrupted, syscall.SIGTERM: cli.ExitTerminated} {
		dir := filepath.Join(base, fmt.Sprint("tok", signal))
		args := append(killArguments(vectors, dir), "--set", "train.checkpoint=100000")
		output, state := signalWhen(t, args, signal, logged(dir, 3))
		if state.ExitCode() != code {
			t.Fatalf("exit code %d after %v, want %d:\n%s", state.ExitCode(), signal, code, output)
		}
		if !strings.Contains(output, "gritvq: interrupted at step ") ||
			!strings.Contains(output, "of 1000; repeat the command with --resume to continue") {
			t.Errorf("the message does not say how to go on:\n%s", output)
		}
		if !exists(filepath.Join(dir, train.CheckpointFile))() {
			t.Error("nothing was saved")
		}
		runToEnd(t, append(args, "--resume"))
		b, err := bundle.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if b.Manifest.Training.Resumed < 30 {
			t.Errorf("went on from step %d, although 30 were done", b.Manifest.Training.Resumed)
		}
	}
}

func TestCtrlCWhileEncodingLeavesNothing(t *testing.T) {
	base := t.TempDir()
	dir, codes := filepath.Join(base, "tok"), filepath.Join(base, "codes.npy")
	runToEnd(t, []string{"train", "synthetic:mixture?rows=500", "-o", dir,
		"--codes", "8", "--levels", "1", "--hidden", "256,256", "--steps", "3", "--batch", "16"})
	partial := func() bool {
		found, _ := filepath.Glob(filepath.Join(base, ".codes.npy.*.tmp"))
		return len(found) > 0
	}
	output, state := signalWhen(t, []string{"encode", dir, "synthetic:mixture?rows=5000000", "-o", codes}, syscall.SIGINT, partial)
	if state.ExitCode() != cli.ExitInterrupted || !strings.HasSuffix(output, "gritvq: interrupted\n") {
		t.Errorf("exit code %d and %q", state.ExitCode(), output)
	}
	if partial() || exists(codes)() {
		t.Error("half a file was left behind")
	}
	signalWhen(t, []string{"encode", dir, "synthetic:mixture?rows=5000000", "-o", codes}, syscall.SIGKILL, partial)
	if !partial() {
		t.Fatal("the killed command left nothing, so the next one has nothing to remove")
	}
	runToEnd(t, []string{"encode", dir, "synthetic:mixture?rows=100", "-o", filepath.Join(base, "others.npy")})
	if partial() {
		t.Error("the temporary file of a killed command is still there")
	}
}
