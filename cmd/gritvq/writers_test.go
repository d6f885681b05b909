package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/internal/output"
)

// A directory that another process writes is left alone by every command that writes, whatever its options.
func TestEveryWriterRefusesADirectoryInUse(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	stored, err := filepath.Abs("../../testdata/stored")
	if err != nil {
		t.Fatal(err)
	}
	const pictures, shop = "synthetic:scenes?images=4", "synthetic:shop?users=40&items=30"
	if err := os.CopyFS(at("ids"), os.DirFS(filepath.Join(stored, "ids"))); err != nil {
		t.Fatal(err)
	}
	runToEnd(t, []string{"encode", filepath.Join(stored, "pictures"), pictures, "-o", at("codes.npy")})
	runToEnd(t, []string{"prior", "train", filepath.Join(stored, "pictures"), pictures, "-o", at("prior"), "--layers", "1", "--width", "16",
		"--heads", "2", "--steps", "2", "--batch", "2"})
	busy := at("busy")
	for _, dir := range []string{busy, at("ids")} {
		claim, err := output.Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer claim.Release()
	}
	held, err := codes.OpenPartial(at(".used.npy.partial"), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	train := []string{"train", "synthetic:mixture?rows=300", "-o", busy, "--codes", "8", "--steps", "2"}
	ids := []string{"ids", shop, "-o", busy, "--codes", "8", "--levels", "2"}
	recommend := []string{"recommend", "train", filepath.Join(stored, "ids"), shop, "-o", busy}
	retrieve := []string{"retrieve", "train", filepath.Join(stored, "ids"), "derived", "-o", busy, "--model", "bm25"}
	compare := []string{"compare", "synthetic:mixture?rows=300", "-o", busy, "--methods", "kmeans", "--codes", "8", "--levels", "1"}
	prior := []string{"prior", "train", filepath.Join(stored, "pictures"), pictures, "-o", busy}
	for _, args := range [][]string{
		train, append(train, "--force"), append(train, "--resume"), ids, append(ids, "--force"),
		{"ids", "add", at("ids"), filepath.Join(stored, "ids", "items.jsonl")},
		recommend, append(recommend, "--force"), append(recommend, "--resume"), retrieve, append(retrieve, "--force"),
		compare, prior, append(prior, "--force"), append(prior, "--resume"),
		{"sample", at("prior"), "-n", "2", "-o", busy}, {"sample", at("prior"), "-n", "2", "-o", busy, "--force"},
		{"decode", filepath.Join(stored, "pictures"), at("codes.npy"), "-o", busy},
		{"export", filepath.Join(stored, "vectors"), "--to", "onnx", "-o", busy},
		{"demo", "-o", busy},
		{"encode", filepath.Join(stored, "pictures"), pictures, "-o", at("used.npy")},
		{"sample", at("prior"), "-n", "2", "-o", at("used.npy")},
	} {
		said, err := exec.Command("gritvq", args...).CombinedOutput()
		exit, failed := err.(*exec.ExitError)
		text := string(said)
		if !failed || exit.ExitCode() != 1 || bytes.Count(said, []byte("\n")) != 1 ||
			!strings.Contains(text, " is in use: process ") && !strings.Contains(text, "another process writes the same output") {
			t.Errorf("gritvq %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	if entries, err := os.ReadDir(busy); err != nil || len(entries) != 1 {
		t.Errorf("written into the directory in use: %v, %v", entries, err)
	}
}
