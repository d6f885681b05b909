package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Directories and files of codes that the version 0.1.0-dev+4869584 wrote open
// and give the answers that it gave. testdata/stored has one of each kind.
func TestStoredDirectoriesStayReadable(t *testing.T) {
	program, err := exec.LookPath("gritvq")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := filepath.Abs("../../testdata/stored")
	if err != nil {
		t.Fatal(err)
	}
	expected := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(stored, "expected", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	run := func(t *testing.T, dir string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		var errors bytes.Buffer
		cmd.Stderr = &errors
		output, err := cmd.Output()
		if err != nil {
			t.Fatalf("gritvq %v: %v\n%s", args, err, errors.Bytes())
		}
		return output
	}
	at := func(name string) string { return filepath.Join(stored, name) }
	for name, data := range map[string]string{"vectors": "synthetic:mixture?rows=400&dim=6", "pictures": "synthetic:scenes?images=6"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run(t, dir, "encode", at(name), data, "-o", "codes.jsonl")
			codes, err := os.ReadFile(filepath.Join(dir, "codes.jsonl"))
			if err != nil || !bytes.Equal(codes, expected(name+".jsonl")) {
				t.Errorf("other codes than before, %v", err)
			}
			run(t, dir, "inspect", at(name))
		})
	}
	t.Run("packed", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, "decode", at("vectors"), at("expected/vectors.gvq"), "-o", "a.npy")
		run(t, dir, "decode", at("vectors"), at("expected/vectors.jsonl"), "-o", "b.npy")
		a, errA := os.ReadFile(filepath.Join(dir, "a.npy"))
		b, errB := os.ReadFile(filepath.Join(dir, "b.npy"))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("packed codes decode otherwise: %v, %v", errA, errB)
		}
		run(t, dir, "decode", at("pictures"), at("expected/picture.gvq"), "-o", "picture.png")
	})
	for name, args := range map[string][]string{
		"ids": {"ids", "show", at("ids"), "1", "--json"}, "union": {"ids", "show", at("union/b"), "--json"},
		"generative": {"recommend", "ask", at("generative"), "--history", "item17,item4", "-k", "5", "--json"},
		"dual":       {"recommend", "ask", at("dual"), "--history", "item17,item4", "-k", "5", "--json"},
		"search":     {"retrieve", "ask", at("search"), "Compact Beach Tunnel Tent 1", "-k", "5", "--json"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := func(content []byte) string {
				var object map[string]any
				if err := json.Unmarshal(content, &object); err != nil {
					t.Fatal(err)
				}
				delete(object, "ms_per_answer")
				text, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if got, want := answer(run(t, t.TempDir(), args...)), answer(expected(name+".json")); got != want {
				t.Errorf("answered %s, before %s", got, want)
			}
		})
	}
}
