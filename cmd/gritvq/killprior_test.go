package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/train"
)

// same fails the test unless two directories have the same files.
func same(t *testing.T, want, got string, names ...string) {
	t.Helper()
	if len(names) == 0 {
		for _, dir := range []string{want, got} {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	}
	for _, name := range names {
		a, errA := os.ReadFile(filepath.Join(want, name))
		b, errB := os.ReadFile(filepath.Join(got, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", name, errA, errB)
		}
	}
}

// Training of a prior is killed while it encodes and while it trains, sampling while it
// writes a folder: both end as if they had not been.
func TestKilledPriorsEndAsUninterruptedOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process several times")
	}
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	const pictures = "synthetic:scenes?images=400&size=32"
	runToEnd(t, []string{"train", pictures, "-o", at("tok"), "--size", "16", "--width", "8,16", "--dim", "4", "--codes", "16", "--steps", "4",
		"--batch", "8"})
	arguments := func(dir string) []string {
		return []string{"prior", "train", at("tok"), pictures, "-o", at(dir), "--layers", "1", "--width", "16", "--heads", "2", "--steps", "200",
			"--batch", "4", "--set", "train.checkpoint=5", "--set", "train.log=5"}
	}
	runToEnd(t, arguments("whole"))
	resume := append(arguments("broken"), "--resume")
	moments := []func() bool{
		func() bool { // some codes are kept
			info, err := os.Stat(filepath.Join(at("broken"), prior.CodesFile))
			return err == nil && info.Size() > 1<<12
		},
		exists(filepath.Join(at("broken"), train.CheckpointFile)),
		logged(at("broken"), 30),
	}
	for i, moment := range moments {
		if output, state := signalWhen(t, resume, syscall.SIGKILL, moment); state.Success() {
			t.Fatalf("the run ended before it could be killed for the %dth time:\n%s", i+1, output)
		}
	}
	runToEnd(t, resume)
	same(t, at("whole"), at("broken"), prior.ModelFile, prior.ReferenceFile, prior.ConfigFile, train.LogFile)
	for _, left := range []string{prior.CodesFile, train.CheckpointFile} {
		if exists(filepath.Join(at("broken"), left))() {
			t.Errorf("%s was left behind", left)
		}
	}

	draw := func(output string) []string { return []string{"sample", at("whole"), "-n", "400", "-o", at(output)} }
	runToEnd(t, draw("pictures"))
	for _, picture := range []string{"000005.png", "000200.png"} {
		if output, state := signalWhen(t, draw("killed"), syscall.SIGKILL, exists(filepath.Join(at("killed"), picture))); state.Success() {
			t.Fatalf("sampling ended before %s was seen:\n%s", picture, output)
		}
		content, err := os.ReadFile(filepath.Join(at("killed"), "000005.png"))
		if want, _ := os.ReadFile(filepath.Join(at("pictures"), "000005.png")); err != nil || !bytes.Equal(content, want) {
			t.Errorf("a picture that was drawn is gone or damaged: %v", err)
		}
	}
	output, _ := signalWhen(t, draw("killed"), syscall.SIGTERM, func() bool { return false })
	if !strings.Contains(output, "continuing after ") {
		t.Errorf("the last run began again:\n%s", output)
	}
	same(t, at("pictures"), at("killed"))
}
