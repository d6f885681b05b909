package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/train"
)

// flip changes a bit in the middle of a file, which others may be linked to.
func flip(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err == nil {
		content[len(content)/2] ^= 4
		err = os.Remove(path)
	}
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A run whose newest checkpoint or choices are damaged goes back to those before, says so, and ends as an uninterrupted
// one. Without any whole checkpoint it says how to start over.
func TestDamagedStateIsNoticed(t *testing.T) {
	base, vectors := t.TempDir(), "synthetic:manifold?rows=3000"
	arguments := func(dir string) []string {
		return []string{"train", vectors, "-o", dir, "--codes", "32", "--levels", "3", "--batch", "128", "--steps", "120",
			"--set", "train.checkpoint=5", "--set", "train.log=5", "--set", "quantizer.search=beam"} // training improves on that start
	}
	whole, broken := filepath.Join(base, "whole"), filepath.Join(base, "broken")
	runToEnd(t, arguments(whole))
	checkpoint, choices := filepath.Join(broken, train.CheckpointFile), filepath.Join(broken, bundle.ChoiceFile)
	earlier := filepath.Join(broken, "checkpoint-1.safetensors")
	resume := append(arguments(broken), "--resume")
	signalWhen(t, resume, syscall.SIGKILL, exists(filepath.Join(broken, bundle.TrialsDir, "1", train.CheckpointFile)))
	flip(t, choices)
	said, state := signalWhen(t, resume, syscall.SIGKILL, exists(earlier))
	if state.Success() || !strings.Contains(said, "the choices cannot be resumed: "+choices+" is damaged: ") ||
		!strings.Contains(said, "; continuing from those before\n") {
		t.Errorf("damaged choices: %s", said)
	}
	flip(t, checkpoint)
	said, state = signalWhen(t, resume, syscall.SIGTERM, logged(broken, 4))
	if state.Success() || !strings.Contains(said, "the checkpoint cannot be resumed: "+checkpoint+" is damaged: ") ||
		!strings.Contains(said, "; continuing from the one before it\n") {
		t.Errorf("a damaged checkpoint: %s", said)
	}
	kept := map[string][]byte{}
	for _, path := range []string{checkpoint, earlier} {
		kept[path], _ = os.ReadFile(path)
		flip(t, path)
	}
	said, state = signalWhen(t, resume, syscall.SIGKILL, func() bool { return false })
	if state.ExitCode() != 1 || !strings.HasSuffix(said, "; --force starts over\n") {
		t.Errorf("no whole checkpoint: exit code %d\n%s", state.ExitCode(), said)
	}
	for path, content := range kept {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runToEnd(t, resume)
	same(t, whole, broken, bundle.ModelFile, bundle.LogFile, bundle.ConfigFile)
}

// IDs whose tokenizer was damaged before they were finished are not resumed, and the refusal says what to do.
func TestDamagedTokenizerOfUnfinishedIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ids")
	args := []string{"ids", "synthetic:shop?users=40&items=60", "-o", dir, "--codes", "8", "--levels", "2", "--hidden", "none", "--steps", "5"}
	runToEnd(t, args)
	for _, name := range []string{"manifest.json", "ids.parquet", "tokenizer/config.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	said, code := run(exec.Command("gritvq", append(args, "--resume")...))
	if code != 1 || !strings.Contains(said, "config.json is missing; ") || !strings.HasSuffix(said, "; --force starts over\n") {
		t.Errorf("exit code %d: %s", code, said)
	}
	runToEnd(t, append(args, "--force"))
}
