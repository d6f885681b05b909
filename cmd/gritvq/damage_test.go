package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// What was damaged after it was finished is not resumed, and the refusal says what to do.
func TestDamagedFinishedRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for dir, args := range map[string][]string{
		"tok":   {"train", "synthetic:manifold?rows=300", "-o", "tok", "--codes", "8", "--levels", "2", "--steps", "2"},
		"prior": {"prior", "train", "--codes", "codes.npy", "-o", "prior", "--layers", "1", "--width", "8", "--heads", "2", "--steps", "2"},
	} {
		if dir == "prior" {
			runToEnd(t, []string{"train", "synthetic:manifold?rows=300", "-o", "coder", "--method", "rq", "--codes", "8", "--levels", "2"})
			runToEnd(t, []string{"encode", "coder", "synthetic:manifold?rows=300", "-o", "codes.npy"})
		}
		runToEnd(t, args)
		flip(t, filepath.Join(dir, "manifest.json"))
		said, code := run(exec.Command("gritvq", append(args, "--resume")...))
		if code != 1 || !strings.Contains(said, "manifest.json ") || !strings.HasSuffix(said, "; --force starts over\n") {
			t.Errorf("%s: exit code %d: %s", dir, code, said)
		}
		runToEnd(t, append(args, "--force"))
	}
}

// An artifact of another kind is not replaced, not even by force.
func TestForceReplacesItsOwnKind(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(cacheVariable, t.TempDir())
	const vectors, shop = "synthetic:manifold?rows=300", "synthetic:shop?users=40&items=30"
	tokenizer := []string{"train", vectors, "-o", "tok", "--codes", "8", "--levels", "2", "--method", "rq"}
	ids := []string{"ids", shop, "-o", "ids", "--codes", "8", "--levels", "2", "--method", "rq", "--hidden", "none"}
	model := []string{"recommend", "train", "ids", shop, "-o", "model", "--model", "popularity"}
	prior := []string{"prior", "train", "--codes", "codes.npy", "-o", "prior", "--layers", "1", "--width", "8", "--heads", "2", "--steps", "2"}
	for _, args := range [][]string{tokenizer, {"encode", "tok", vectors, "-o", "codes.npy"}, ids, model, prior} {
		runToEnd(t, args)
	}
	kinds := map[string][]string{"tok": tokenizer, "ids": ids, "model": model, "prior": prior}
	for own, args := range kinds {
		for other := range kinds {
			args := slices.Clone(args)
			args[slices.Index(args, "-o")+1] = other
			if own == "model" && other == "ids" { // its input
				continue
			}
			said, code := run(exec.Command("gritvq", append(args, "--force")...))
			if own == other && code != 0 || own != other && (code == 0 || !strings.Contains(said, other+" holds ")) {
				t.Errorf("%s over %s: exit code %d: %s", own, other, code, said)
			}
		}
	}
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
