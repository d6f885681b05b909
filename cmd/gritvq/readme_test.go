package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/images"
	"github.com/gritvq/gritvq/picture"
)

// TestReadmeCommands runs the commands of the README one after the other, on a
// small file and with short training.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("gritvq")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := writeVectors([]string{filepath.Join(dir, "vectors.npy"), "1000", "16"}); err != nil {
		t.Fatal(err)
	}
	if err := writePictures(dir); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shorten := "#!/bin/sh\nif [ \"$1\" = train ]; then set -- \"$@\" --steps 10; fi\nexec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "gritvq"), []byte(shorten), 0o755); err != nil {
		t.Fatal(err)
	}
	commands, sections := 0, regexp.MustCompile("(?s)<!-- tested: begin -->(.*?)<!-- tested: end -->").FindAllStringSubmatch(string(readme), -1)
	if len(sections) < 2 {
		t.Fatalf("%d tested sections in the README", len(sections))
	}
	for _, section := range sections {
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section[1], -1) {
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
	}
	if commands < 12 {
		t.Errorf("only %d commands were found", commands)
	}
	for _, name := range []string{"tok/report.html", "codes.npy", "recon.npy", "codes.gvq", "my.yaml", "tok2/manifest.json", "grid.png", "grids.keys", "restored/scene0.png", "restored.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was not made", name)
		}
	}
}

// writePictures makes photos.tar, with a few of the built-in scenes, and
// photo.png.
func writePictures(dir string) error {
	set, err := images.Open(context.Background(), "synthetic:scenes?images=20&size=64", images.Options{Size: 64})
	if err != nil {
		return err
	}
	defer set.Close()
	sink, err := createPictures(filepath.Join(dir, "photos.tar"), set.Len())
	if err != nil {
		return err
	}
	for i := range set.Len() {
		p, err := set.Whole(i)
		if err != nil {
			return err
		}
		if err := sink.add(fmt.Sprintf("scene%d", i), p); err != nil {
			return err
		}
		if i == 0 {
			if err := picture.WritePNG(filepath.Join(dir, "photo.png"), p); err != nil {
				return err
			}
		}
	}
	return sink.commit()
}
