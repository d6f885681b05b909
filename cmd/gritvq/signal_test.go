package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/train"
)

// transcript is what a process has printed so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// signalled runs gritvq until the moment has come, sends it as many signals, each as soon as it has answered the one
// before, and returns its output.
func signalled(t *testing.T, args []string, signal syscall.Signal, times int, moment func() bool) (said string, code int) {
	t.Helper()
	var text transcript
	cmd := exec.Command("gritvq", args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer kill.Stop()
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for i := range times {
		for ready := false; !ready; {
			select {
			case <-ended:
				return text.String(), cmd.ProcessState.ExitCode()
			case <-time.After(time.Millisecond):
				ready = i == 0 && moment() || i > 0 && strings.Count(text.String(), signalNames[signal]) == i
			}
		}
		cmd.Process.Signal(signal)
	}
	<-ended
	return text.String(), cmd.ProcessState.ExitCode()
}

var signalNames = map[syscall.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}

// Two signals in a row, as timeout sends them, save as one does. A run always says where it continues.
func TestSignalsInARow(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "tok")
	args := []string{"train", "synthetic:manifold?rows=3000", "-o", dir, "--codes", "32", "--levels", "2", "--hidden", "512,512", "--dim", "8",
		"--steps", "3000", "--batch", "2048", "--resume", "--set", "train.checkpoint=100000", "--set", "train.log=1"}
	for i, times := range []int{1, 2} {
		output, code := signalled(t, args, syscall.SIGINT, times, logged(dir, 2))
		if code != cli.ExitInterrupted || !strings.Contains(output, "gritvq: interrupted at step ") {
			t.Fatalf("%d signals: exit code %d\n%s", times, code, output)
		}
		began := "there is no checkpoint: starting with step 1 of 3000\n"
		if i > 0 {
			began = "continuing after step "
		}
		if !strings.Contains(output, began) || strings.Contains(output, "SIGINT again, ignored") != (times == 2) {
			t.Errorf("%d signals: %s", times, output)
		}
		if !exists(filepath.Join(dir, train.CheckpointFile))() {
			t.Errorf("%d signals: nothing was saved", times)
		}
	}
	saved := func() (step int) {
		output, _ := signalled(t, args, syscall.SIGTERM, 1, logged(dir, 1))
		found := regexp.MustCompile(`continuing after step (\d+) of 3000`).FindStringSubmatch(output)
		if found == nil {
			t.Fatalf("no step is named:\n%s", output)
		}
		fmt.Sscan(found[1], &step)
		return step
	}
	if first, second := saved(), saved(); first < 4 || second <= first {
		t.Errorf("continued after step %d and then %d, although four were logged at first", first, second)
	}
}

// A third signal does not wait.
func TestThreeSignalsLeaveAtOnce(t *testing.T) {
	base := t.TempDir()
	began := time.Now()
	// The encoding of one block of this network takes longer than the test allows.
	dir := filepath.Join(base, "tok")
	output, code := signalled(t, []string{"train", "synthetic:manifold?rows=20000", "-o", dir, "--codes", "16", "--levels", "2",
		"--hidden", "4096,4096,4096", "--dim", "8", "--batch", "16384", "--steps", "10"}, syscall.SIGTERM, 3,
		func() bool { return time.Since(began) > 3*time.Second })
	if code != cli.ExitTerminated || !strings.HasSuffix(output, "gritvq: SIGTERM: the work in progress was ended without saving\n") {
		t.Errorf("exit code %d\n%s", code, output)
	}
}
