//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bounds of a command whose input asks for the impossible.
const (
	refusalTime   = 30 * time.Second
	refusalMemory = 1 << 20 // KiB
)

// refused runs gritvq, which must fail with one sentence that matches want, soon and with little memory.
func refused(t *testing.T, want string, limit string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), refusalTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gritvq", args...)
	if limit != "" {
		cmd = exec.CommandContext(ctx, "sh", append([]string{"-c", "ulimit -v " + limit + ` && exec gritvq "$@"`, "sh"}, args...)...)
	}
	output, err := cmd.CombinedOutput()
	text := strings.TrimRight(string(output), "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	if code := cmd.ProcessState.ExitCode(); err == nil || code != 1 && code != 2 {
		t.Errorf("gritvq %s: exit code %d, want 1 or 2\n%.600s", strings.Join(args, " "), code, text)
	}
	if !regexp.MustCompile(want).MatchString(last) || strings.Contains(text, "goroutine ") {
		t.Errorf("gritvq %s: said %.600q, want %q", strings.Join(args, " "), last, want)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" && usage.Maxrss > refusalMemory {
		t.Errorf("gritvq %s: took %d MiB", strings.Join(args, " "), usage.Maxrss>>10)
	}
}

// Sizes on the command line are weighed against the machine before anything is allocated.
func TestSizesBeyondTheMachine(t *testing.T) {
	const vectors, pictures = "synthetic:mixture?rows=500", "synthetic:scenes?images=60"
	const exceeded = ` would take .* of memory and .* are available; use smaller sizes`
	for name, c := range map[string]struct{ data, options, want string }{
		"dim":           {vectors, "--dim 1099511627776 --hidden 8", exceeded},
		"hidden":        {vectors, "--dim 8 --hidden 1048576,1048576", exceeded},
		"batch":         {vectors, "--batch 1000000000", "a step on a batch of 1000000000 rows" + exceeded},
		"largest batch": {vectors, "--batch 9223372036854775807", "a batch of 9223372036854775807 rows" + exceeded},
		"codebooks": {vectors, "--codes 400 --dim 1000000000 --hidden 8",
			"4 codebooks of 400 codes for latents of 1000000000 numbers" + exceeded},
		"widths":   {pictures, "--size 32 --width 1048576,1048576 --codes 8", exceeded},
		"pictures": {pictures, "--size 32 --width 16 --codes 8 --batch 10000000", "a step on a batch of 10000000 pictures" + exceeded},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"train", c.data, "-o", filepath.Join(t.TempDir(), "tok"), "--steps", "2"}, strings.Fields(c.options)...)
			if !strings.Contains(c.options, "--codes") {
				args = append(args, "--codes", "8")
			}
			refused(t, c.want, "", args...)
		})
	}
}

// stored copies a stored tokenizer.
func stored(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../testdata/stored", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestManifestsThatAskForTooMuch(t *testing.T) {
	dir := stored(t, "vectors")
	manifest := filepath.Join(dir, "manifest.json")
	content, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	huge := regexp.MustCompile(`"input_dim": *\d+`).ReplaceAll(content, []byte(`"input_dim": 1099511627776`))
	if err := os.WriteFile(manifest, huge, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, "input_dim of 1099511627776 is not that of the stored weights", "", "inspect", dir)
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", manifest); err != nil {
		t.Fatal(err)
	}
	refused(t, "manifest.json: it is no regular file and goes on after 64.0 MiB", "", "inspect", dir)
}

// A picture file of 30 bytes cannot ask for gigabytes: neither for pixels nor for codes.
func TestSmallPictureFilesThatClaimMuch(t *testing.T) {
	dir := stored(t, "pictures")
	picture := func(width, height, factor uint64) string {
		file := []byte("GVQI\x01")
		for _, n := range []uint64{width, height, factor, 1, 16} {
			file = binary.AppendUvarint(file, n)
		}
		file = append(file, make([]byte, 9)...)
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli)))
		path := filepath.Join(t.TempDir(), "huge.gvq")
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, path := range map[string]string{
		"more than the 268435456 of any picture": picture(1<<24, 1<<24, 1<<12),
		"more than 67108864 codes":               picture(1<<24, 1<<24, 4),
	} {
		refused(t, want, "", "decode", dir, path, "-o", filepath.Join(t.TempDir(), "out.png"))
	}
}

// leastLimit is the smallest limit on address space, in MiB, with which the runtime and the threads of C start. Below it they
// end the program with a trace of their own. docs/install.md names it.
const leastLimit = 2048

// Under a small limit on address space a command works or says in a sentence what it lacks.
func TestLimitedAddressSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ulimit -v is Linux's")
	}
	for limit := leastLimit; limit <= 2600; limit += 120 {
		said, code := run(exec.Command("sh", "-c", "ulimit -v "+strconv.Itoa(limit<<10)+` && exec gritvq "$@"`, "sh", "train",
			"synthetic:mixture?rows=500", "-o", filepath.Join(t.TempDir(), "tok"), "--steps", "2", "--codes", "8", "--levels", "1"))
		one := regexp.MustCompile(`^gritvq: the limit on address space leaves .*; raise it with ulimit -v\n$`).MatchString(said)
		if code != 0 && (code != 1 || !one) {
			t.Errorf("%d MiB: exit code %d\n%.1000s", limit, code, said)
		}
	}
	refused(t, "would take .* of memory and .* are available", "2800000", "train", "synthetic:mixture?rows=500",
		"-o", filepath.Join(t.TempDir(), "tok"), "--steps", "2", "--codes", "8", "--dim", "8", "--hidden", "30000,30000")
}

// Options that multiply something in other commands are weighed as those of train are.
func TestCountsBeyondTheMachine(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	stored, err := filepath.Abs("../../testdata/stored")
	must(t, err)
	at := func(name string) string { return filepath.Join(stored, name) }
	const vectors, pictures, shop = "synthetic:mixture?rows=50&dim=6", "synthetic:scenes?images=20", " synthetic:shop?users=40&items=30 "
	const huge, many = " 9223372036854775807 ", "1000000000 "
	for want, command := range map[string]string{
		"a beam of 9223372036854775807 encodings": "encode " + at("vectors") + " " + vectors + " -o OUT.npy --beam" + huge,
		"a beam of 1000000000000 encodings":       "train " + vectors + " -o OUT --codes 8 --steps 2 --set quantizer.beam=1000000000000",
		"a transformer of 1000000000 layers": "prior train " + at("pictures") + " " + pictures + " -o OUT --width 16 --heads 2 --steps 2 " +
			"--layers " + many,
		"histories with room for .* tokens": "recommend train " + at("ids") + shop + "-o OUT --steps 2 --model generative " +
			"--set model.history=" + many,
		"a plan of 1000000000000 seeds": "compare " + vectors + " -o OUT --methods kmeans --codes 8 --seeds 1000000000000",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "OUT", filepath.Join(t.TempDir(), "out")))
		refused(t, want+" would take .* of memory and .* are available; use smaller sizes", "", args...)
	}
	// More threads than cores are of no use.
	runToEnd(t, []string{"encode", at("vectors"), vectors, "-o", filepath.Join(t.TempDir(), "codes.npy"), "--workers", "1000000000"})
}
