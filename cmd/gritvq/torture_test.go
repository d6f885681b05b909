package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// usualFaults are made by default, always the same; GRITVQ_TORTURE is another number of others.
const usualFaults = 200

// writer is a command that writes below the directory that replaces OUT.
type writer struct {
	name, command string
	again         string // option with which the command is repeated after a fault
	reads         string // stored directory or file that is damaged for it, inside the bench
}

// network are settings of recommenders' networks that take a moment to train.
const network = " --set model.layers=1 --set model.width=16 --set model.feed_forward=16 --set model.heads=2 --set train.checkpoint=2"

var writers = []writer{
	{"train", "train x.npy -o OUT/tok --codes 8 --levels 2 --hidden 16 --dim 4 --steps 40 --batch 32 --set train.checkpoint=5",
		"--resume", "x.npy"},
	{"encode", "encode vectors x.npy -o OUT/codes.npy", "", "vectors"},
	{"decode", "decode vectors codes.npy -o OUT/decoded.npy", "--force", "vectors"},
	{"ids", "ids synthetic:shop?users=40&items=60 -o OUT/ids --codes 8 --levels 2 --hidden none --steps 20", "--resume", ""},
	{"recommend", "recommend train ids synthetic:shop?users=40&items=60 -o OUT/rec --model popularity", "--force", "ids"},
	{"dual", "recommend train ids synthetic:shop?users=40&items=60 -o OUT/rec --model dual --steps 12 --batch 16" + network,
		"--resume", "ids"},
	{"generative", "recommend train ids synthetic:shop?users=40&items=60 -o OUT/rec --model generative --steps 8 --batch 16 " +
		"--set model.head_dim=8" + network, "--resume", "ids"},
	{"sasrec", "recommend train ids synthetic:shop?users=40&items=60 -o OUT/rec --model sasrec --steps 12 --batch 16 " +
		"--set model.layers=1 --set model.width=16 --set train.checkpoint=2", "--resume", "ids"},
	{"retrieve", "retrieve train ids derived -o OUT/search --model bm25", "--force", "ids"},
	{"search", "retrieve train ids derived -o OUT/search --model search --steps 12 --batch 16" + network, "--resume", "ids"},
	{"compare", "compare x.npy -o OUT/compared --methods kmeans,rq --codes 8 --levels 2 --hidden none --steps 5", "", "x.npy"},
	{"prior", "prior train pictures synthetic:scenes?images=6 -o OUT/prior --layers 1 --width 16 --heads 2 --steps 10 --batch 2",
		"--resume", "pictures"},
	{"sample", "sample prior -n 2 -o OUT/drawn.npy", "--force", "prior"},
	{"export", "export vectors --to faiss -o OUT/codes.faiss", "", "vectors"},
}

// bench is a directory with everything that the writers read, and what they write undisturbed.
type bench struct {
	dir   string
	whole map[string]map[string]string // by writer
	takes map[string]time.Duration
}

func (b *bench) process(w writer, out string, more ...string) *exec.Cmd {
	args := append(strings.Fields(strings.ReplaceAll(w.command, "OUT", out)), more...)
	cmd := exec.Command("gritvq", args...)
	cmd.Dir = b.dir
	return cmd
}

func (b *bench) out(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(b.dir, name)
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), whole: map[string]map[string]string{}, takes: map[string]time.Duration{}}
	at := func(name string) string { return filepath.Join(b.dir, name) }
	for _, name := range []string{"vectors", "pictures"} {
		if err := os.CopyFS(at(name), os.DirFS(filepath.Join("../../testdata/stored", name))); err != nil {
			t.Fatal(err)
		}
	}
	dim := inputOf(t, at("vectors"))
	if err := writeVectors([]string{at("x.npy"), "600", dim}); err != nil {
		t.Fatal(err)
	}
	runToEnd(t, []string{"encode", at("vectors"), at("x.npy"), "-o", at("codes.npy")})
	for _, w := range writers {
		out := b.out(t, "whole-"+w.name)
		begun := time.Now()
		if output, err := b.process(w, out).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", w.name, err, output)
		}
		b.takes[w.name], b.whole[w.name] = time.Since(begun), contents(t, at(out))
		if w.name == "ids" || w.name == "prior" { // later writers read them
			if err := os.Rename(filepath.Join(at(out), w.name), at(w.name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// inputOf is the dimension of a stored tokenizer's vectors.
func inputOf(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), `"input_dim":`)
	dim, _, _ := strings.Cut(rest, ",")
	return strings.TrimSpace(dim)
}

// contents are the files below a directory. Files without times in them are told by their checksums.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name] = ""
		if slices.Contains([]string{".safetensors", ".parquet", ".npy", ".faiss"}, filepath.Ext(path)) {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[name] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Whatever happens to a command, it says no trace, and the command repeated ends as if nothing had happened: with the same
// bytes, and with nothing left behind.
func TestTorture(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("faults take a while, and are those of Linux")
	}
	b := newBench(t)
	wanted, seed := usualFaults, uint64(1) // make torture draws others
	if n, err := strconv.Atoi(os.Getenv("GRITVQ_TORTURE")); err == nil {
		wanted, seed = n, uint64(time.Now().UnixNano())
	}
	t.Logf("the seed is %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	names, counts := slices.Sorted(maps.Keys(faults)), map[string]int{}
	for done := range wanted {
		w, fault := writers[rng.IntN(len(writers))], names[done%len(names)]
		out := b.out(t, "out")
		said, code := faults[fault](t, b, rng, w, out)
		if strings.Contains(said, "goroutine ") || !slices.Contains([]int{0, 1, 2, -1, 130, 143}, code) {
			t.Errorf("%s, %s: exit code %d\n%.2000s", w.name, fault, code, said)
		}
		counts[fmt.Sprintf("%s: exit code %d", fault, code)]++
		if code != 0 {
			b.repeat(t, w, fault, out)
		}
		if got := contents(t, filepath.Join(b.dir, out)); !maps.Equal(got, b.whole[w.name]) {
			t.Errorf("%s after %s: holds %v, want %v", w.name, fault, got, b.whole[w.name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5d  %s", counts[name], name)
	}
	t.Logf("%5d  faults", wanted)
}

// A recommender that was killed while it was stored is no foreign directory.
func TestForceAfterAKillWhileStoring(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	ids, err := filepath.Abs("../../testdata/stored/ids")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "rec")
	args := []string{"recommend", "train", ids, "synthetic:shop?users=40&items=30", "-o", dir, "--model", "popularity"}
	runToEnd(t, args)
	for _, name := range []string{"manifest.json", "model.safetensors"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	said, code := run(exec.Command("gritvq", args...))
	if code != 1 || !strings.Contains(said, "holds an unfinished recommender; --force starts over") {
		t.Errorf("exit code %d: %s", code, said)
	}
	runToEnd(t, append(args, "--force"))
}

// repeat runs a command again, from where it was or over what it left.
func (b *bench) repeat(t *testing.T, w writer, fault, out string) {
	t.Helper()
	var options []string
	if w.again != "" {
		options = append(options, w.again)
	}
	said, code := run(b.process(w, out, options...))
	if code != 0 && w.again == "--resume" && strings.Contains(said, "--force") { // it was finished, or of another input
		said, code = run(b.process(w, out, "--force"))
	}
	if code != 0 {
		t.Errorf("%s repeated after %s: exit code %d\n%.2000s", w.name, fault, code, said)
	}
}
