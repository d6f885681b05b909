package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/train"
)

// While one process trains into a directory others do not touch it, whatever their options.
func TestOneProcessADirectory(t *testing.T) {
	base := t.TempDir()
	vectors, dir := filepath.Join(base, "x.npy"), filepath.Join(base, "tok")
	if err := writeVectors([]string{vectors, "2000", "16"}); err != nil {
		t.Fatal(err)
	}
	args := append(killArguments(vectors, dir), "--set", "train.steps=20000", "--set", "train.patience=0")
	var text bytes.Buffer
	first := exec.Command("gritvq", args...)
	first.Stdout, first.Stderr = &text, &text
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	for checkpoint := exists(filepath.Join(dir, train.CheckpointFile)); !checkpoint(); {
		select {
		case <-ended:
			t.Fatalf("the first run ended early:\n%s", text.String())
		default:
		}
	}
	for _, option := range []string{"--force", "--resume"} {
		second, err := exec.Command("gritvq", append(args, option)...).CombinedOutput()
		exit, failed := err.(*exec.ExitError)
		if !failed || exit.ExitCode() != 1 || !strings.HasPrefix(string(second), "gritvq: "+dir+" is in use: process ") ||
			bytes.Count(second, []byte("\n")) != 1 {
			t.Errorf("%s beside a live run: %v\n%s", option, err, second)
		}
	}
	first.Process.Signal(syscall.SIGKILL)
	<-ended
	if !exists(filepath.Join(dir, output.LockFile))() {
		t.Error("the killed run had no lock")
	}
	runToEnd(t, append(killArguments(vectors, dir), "--force"))
	if _, err := bundle.Load(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, output.LockFile)); err == nil {
		t.Error("the lock is left")
	}
}
