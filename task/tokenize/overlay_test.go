package tokenize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/task"
)

// A page over a finished run, another with other settings, and the log of an unfinished one.
func TestOverlay(t *testing.T) {
	first, o := trainVectors(t)
	o.Output = filepath.Join(t.TempDir(), "wider")
	o.Config.Quantizer.Codes, o.Config.Train.Evaluate, o.Config.Train.Choose = 16, 5, nil // it takes steps, and keeps no start
	second, err := Train(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(t.TempDir(), "begun")
	log, err := os.ReadFile(filepath.Join(second.Dir, bundle.LogFile))
	if err == nil {
		err = os.Mkdir(begun, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(begun, bundle.LogFile), log, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "runs.html")
	result, err := Overlay(OverlayOptions{Runs: []string{first.Dir, second.Dir, begun}, Output: page})
	if err != nil || result.Runs != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Runs: tok, wider, begun", "unfinished", "quantizer.codes", "Held-out error", "Codes in use",
		`data-name="wider"`, `data-name="begun"`} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for name, bad := range map[string]OverlayOptions{
		"two runs":     {Runs: []string{first.Dir}, Output: page},
		".html":        {Runs: []string{first.Dir, second.Dir}, Output: "runs.png"},
		"training log": {Runs: []string{first.Dir, t.TempDir()}, Output: page},
		"is the input": {Runs: []string{first.Dir, page}, Output: page},
	} {
		if _, err := Overlay(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
