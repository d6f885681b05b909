package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCommands runs the commands of the README one after the other, on a
// small file and with short training.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begun := strings.Cut(string(readme), "<!-- tested: begin -->")
	section, _, ended := strings.Cut(rest, "<!-- tested: end -->")
	if !begun || !ended {
		t.Fatal("the README has no tested section")
	}
	program, err := exec.LookPath("gritvq")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := writeVectors([]string{filepath.Join(dir, "vectors.npy"), "1000", "16"}); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shorten := "#!/bin/sh\nif [ \"$1\" = train ]; then set -- \"$@\" --steps 10; fi\nexec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "gritvq"), []byte(shorten), 0o755); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, output)
			}
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands were found", commands)
	}
	for _, name := range []string{"tok/report.html", "codes.npy", "recon.npy", "codes.gvq", "my.yaml", "tok2/manifest.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was not made", name)
		}
	}
}
