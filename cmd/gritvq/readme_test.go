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

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// TestDocumentedCommands runs the commands of the README and of the guides one
// after the other, on small files and with short training.
func TestDocumentedCommands(t *testing.T) {
	program, err := exec.LookPath("gritvq")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shorten := "#!/bin/sh\ncase \"$1 $2\" in 'ids add'|'ids show') ;; train*|ids*|*' train') set -- \"$@\" --steps 10;; esac\n" +
		"exec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "gritvq"), []byte(shorten), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, guide := range []struct {
		file     string
		commands int // at least
		made     []string
	}{
		{"README.md", 16, []string{"tok/report.html", "codes.npy", "recon.npy", "codes.gvq", "my.yaml",
			"tok2/manifest.json", "grid.png", "grids.keys", "restored/scene0.png", "restored.png"}},
		{"docs/pictures.md", 8, []string{"grid.png", "codes.png", "codes.keys", "back.png", "report/index.html"}},
		{"docs/generation.md", 8, []string{"prior/report.html", "grid.png", "samples/000063.png", "completed.png", "photo.gvq", "restored.png"}},
		{"docs/recommendation.md", 10, []string{"ids/report.html", "rec/manifest.json", "dual/manifest.json", "rec.parquet",
			"search/manifest.json"}},
	} {
		t.Run(guide.file, func(t *testing.T) {
			dir := t.TempDir()
			if err := writeVectors([]string{filepath.Join(dir, "vectors.npy"), "1000", "16"}); err != nil {
				t.Fatal(err)
			}
			if err := writePictures(dir); err != nil {
				t.Fatal(err)
			}
			commands := testedCommands(t, "../../"+guide.file)
			if len(commands) < guide.commands {
				t.Errorf("only %d commands were found", len(commands))
			}
			for _, line := range commands {
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
					"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
				if output, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", line, err, output)
				}
			}
			for _, name := range guide.made {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("%s was not made", name)
				}
			}
		})
	}
}

// testedCommands lists the lines of the shell blocks of a guide's tested
// sections.
func testedCommands(t *testing.T, path string) (lines []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range regexp.MustCompile("(?s)<!-- tested: begin -->(.*?)<!-- tested: end -->").FindAllStringSubmatch(string(text), -1) {
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section[1], -1) {
			lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
		}
	}
	return lines
}

// writePictures makes photos.tar, with a few of the built-in scenes, and
// photo.png.
func writePictures(dir string) error {
	set, err := images.Open(context.Background(), "synthetic:scenes?images=20&size=64", images.Options{Size: 64})
	if err != nil {
		return err
	}
	defer set.Close()
	out, err := picture.Create(filepath.Join(dir, "photos.tar"), set.Len())
	if err != nil {
		return err
	}
	for i := range set.Len() {
		p, err := set.Whole(i)
		if err != nil {
			return err
		}
		if err := out.Add(fmt.Sprintf("scene%d", i), p); err != nil {
			return err
		}
		if i == 0 {
			if err := draw.WritePNG(filepath.Join(dir, "photo.png"), p); err != nil {
				return err
			}
		}
	}
	return out.Commit()
}
