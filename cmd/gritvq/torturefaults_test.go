package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faults may happen to a process. Each returns the output of the process and its exit code, -1 if it was killed.
var faults = map[string]func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (said string, code int){
	"SIGKILL": signalFault(syscall.SIGKILL),
	"SIGTERM": signalFault(syscall.SIGTERM),
	"SIGINT":  signalFault(syscall.SIGINT),
	"full disk": func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
		return b.limited(w, out, "ulimit -f "+strconv.Itoa(rng.IntN(40)))
	},
	"little address space": func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
		return b.limited(w, out, "ulimit -v "+strconv.Itoa(2500000+rng.IntN(2000000)))
	},
	"two at once": func(t *testing.T, b *bench, _ *rand.Rand, w writer, out string) (string, int) {
		var text bytes.Buffer
		first, second := b.process(w, out), b.process(w, out)
		first.Stderr, second.Stderr = &text, nil
		if first.Start() == nil && second.Start() == nil {
			first.Wait()
			second.Wait()
		}
		return text.String(), max(first.ProcessState.ExitCode(), 0)
	},
	"damaged input": func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
		if w.reads == "" {
			return "", 1 // nothing to damage: the command is run below
		}
		copied := filepath.Join(b.dir, "damaged-"+w.reads)
		must(t, os.RemoveAll(copied))
		if from := filepath.Join(b.dir, w.reads); strings.HasSuffix(w.reads, ".npy") {
			content, err := os.ReadFile(from)
			must(t, err)
			must(t, os.WriteFile(copied, content[:rng.IntN(len(content))], 0o644)) // its numbers have no checksum
		} else {
			must(t, os.CopyFS(copied, os.DirFS(from)))
			damage(t, rng, copied)
		}
		w.command = strings.Replace(w.command, " "+w.reads+" ", " "+copied+" ", 1)
		return run(b.process(w, out))
	},
	"killed, then damaged": func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
		said, code := signalFault(syscall.SIGKILL)(t, b, rng, w, out)
		if code != 0 {
			damage(t, rng, filepath.Join(b.dir, out))
		}
		return said, code
	},
	"read-only directory": func(t *testing.T, b *bench, _ *rand.Rand, w writer, out string) (string, int) {
		dir := filepath.Join(b.dir, out)
		must(t, os.Chmod(dir, 0o555))
		defer func() { must(t, os.Chmod(dir, 0o755)) }()
		cmd := b.process(w, out)
		powerless := exec.Command("powerless", cmd.Args...)
		powerless.Dir = b.dir
		said, code := run(powerless)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || code == 0 {
			t.Errorf("%s: wrote %v into a directory that is read-only", w.name, left)
		}
		return said, code
	},
}

// damage changes one file below a directory: a bit, its length or all of it.
func damage(t *testing.T, rng *rand.Rand, dir string) {
	var paths []string
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	}))
	if len(paths) == 0 {
		return
	}
	path := paths[rng.IntN(len(paths))]
	content, err := os.ReadFile(path)
	must(t, err)
	switch kind := rng.IntN(5); {
	case kind == 0:
		must(t, os.Remove(path)) // and the rest stays
		return
	case kind == 1 && len(content) > 0:
		content = content[:rng.IntN(len(content))]
	case kind == 2:
		content = []byte("no such content")
	case kind == 3:
		content = append(content, "more"...)
	case len(content) > 0:
		content = slices.Clone(content)
		content[rng.IntN(len(content))] ^= 1 << rng.IntN(8)
	}
	must(t, os.Remove(path)) // others may be linked to it
	must(t, os.WriteFile(path, content, 0o644))
}

func run(cmd *exec.Cmd) (said string, code int) {
	output, _ := cmd.CombinedOutput()
	return string(output), cmd.ProcessState.ExitCode()
}

func (b *bench) limited(w writer, out, limit string) (string, int) {
	cmd := b.process(w, out)
	cmd.Args = append([]string{"sh", "-c", limit + ` && exec gritvq "$@"`, "sh"}, cmd.Args[1:]...)
	path, err := exec.LookPath("sh")
	if err != nil {
		return "", 1
	}
	cmd.Path = path
	return run(cmd)
}

func signalFault(signal syscall.Signal) func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
	return func(t *testing.T, b *bench, rng *rand.Rand, w writer, out string) (string, int) {
		cmd := b.process(w, out)
		time.AfterFunc(time.Duration(rng.Float64()*1.2*float64(b.takes[w.name])), func() {
			if cmd.Process != nil {
				cmd.Process.Signal(signal)
			}
		})
		return run(cmd)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
