package prior

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/task/tokenize"
)

// A folder, a tar, a file of codes and what gritvq decode makes of it hold the same
// pictures, and fewer pictures are the first of more.
func TestDestinationsAgree(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(8)})
	at := func(name string) string { return filepath.Join(base, name) }
	const n = 20
	s := sampled(t, SampleOptions{Dir: dir, Output: at("folder"), Count: n})
	if s.Count != n || s.Kept != 0 || !strings.HasPrefix(s.String(), at("folder")+": 20 pictures of 16 x 16 pixels, ") {
		t.Errorf("%+v: %s", s, s)
	}
	sampled(t, SampleOptions{Dir: dir, Output: at("x.tar"), Count: n})
	sampled(t, SampleOptions{Dir: dir, Output: at("few.npy"), Count: 3})
	sampled(t, SampleOptions{Dir: dir, Output: at("x.gvq"), Count: n})
	sampled(t, SampleOptions{Dir: dir, Output: at("grid.png"), Count: 10})
	_, err := tokenize.Decode(t.Context(), tokenize.DecodeOptions{Dir: stored, Input: at("x.gvq"), Output: at("decoded"), Backend: "go"},
		task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	folder := files(t, at("folder"))
	if !maps.Equal(folder, files(t, at("decoded"))) || len(folder) != n {
		t.Errorf("%d pictures in the folder differ from the decoded codes", len(folder))
	}
	if !maps.Equal(folder, members(t, at("x.tar"))) {
		t.Error("the pictures in the tar differ from those in the folder")
	}
	if !slices.EqualFunc(read(t, at("x.gvq"))[:3], read(t, at("few.npy")), slices.Equal[[]uint32]) {
		t.Error("three rows are not the first of 20")
	}
	grid, err := os.Open(at("grid.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer grid.Close()
	if m, err := png.DecodeConfig(grid); err != nil || m.Width != 4*134-6+32 || m.Height != 3*134-6+32 {
		t.Errorf("the grid has %d x %d pixels, %v", m.Width, m.Height, err)
	}
	for name := range files(t, base) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func members(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for r := tar.NewReader(f); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		all[head.Name] = string(content)
	}
}

// Interrupted sampling keeps what is drawn, and repeated ends as if it had not been.
func TestInterruptedSamplingResumes(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	for _, name := range []string{"folder", "x.tar"} {
		o := SampleOptions{Dir: dir, Output: filepath.Join(base, "whole"+name), Count: 80}
		sampled(t, o)
		whole := o.Output
		o.Output = filepath.Join(base, name)
		ctx, w := interruptedAfter(t, 2)
		if _, err := trySample(ctx, o, w); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "folder" {
			kept := files(t, o.Output)
			other := o
			other.Sampling = gpt.DefaultSampling()
			other.Sampling.Seed = 9
			_, err := trySample(t.Context(), other, task.Silent{})
			refused(t, err, "folder holds unfinished samples of other settings; name another folder, or --force")
			if !maps.Equal(kept, files(t, o.Output)) {
				t.Error("the refused command changed the folder")
			}
			for _, spoil := range []string{"000003.png", ".000066.png.123.gritvq.tmp"} {
				os.Remove(filepath.Join(o.Output, spoil))
				if strings.HasPrefix(spoil, ".") {
					os.WriteFile(filepath.Join(o.Output, spoil), []byte("half"), 0o644)
				}
			}
		}
		if s := sampled(t, o); s.Kept < 64 || s.Kept == 80 {
			t.Errorf("%s: %d rows were kept", name, s.Kept)
		}
		if name == "folder" {
			if !maps.Equal(files(t, whole), files(t, o.Output)) {
				t.Error("the folder differs from that of the whole run")
			}
			continue
		}
		all := files(t, base)
		if all[name] == "" || all[name] != all["whole"+name] {
			t.Errorf("%s differs from that of the whole run", name)
		}
	}
}

// A folder that holds something is left alone; --force replaces numbered pictures only.
func TestFolderIsNotOverwritten(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	for _, name := range []string{"000000.png", "000009.png", "mine.png"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := SampleOptions{Dir: dir, Output: base, Count: 2}
	_, err := trySample(t.Context(), o, task.Silent{})
	refused(t, err, "holds files; name another folder, or --force to replace its numbered pictures")
	o.Force = true
	sampled(t, o)
	left := files(t, base)
	if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, []string{"000000.png", "000001.png", "mine.png"}) ||
		left["mine.png"] != "mine" || left["000000.png"] == "mine" {
		t.Errorf("the folder holds %v", got)
	}
}

// Rows of a class are those of the class, with and without guidance; a class's name is
// needed, and known.
func TestClassesAreSampled(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	var rows [][]uint32
	var lines strings.Builder
	for i := range uint32(40) { // "low" rows of codes 0 to 2, "high" ones of 3 to 5
		row := make([]uint32, 6)
		for at := range row {
			row[at] = (i/2+uint32(at)*i)%3 + 3*(i%2)
		}
		rows = append(rows, row)
		fmt.Fprintf(&lines, "%d,%s\n", i, []string{"low", "high"}[i%2])
	}
	path := writeRows(t, rows, 6)
	labels := filepath.Join(base, "labels.csv")
	if err := os.WriteFile(labels, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p := trained(t, TrainOptions{Dir: dir, Source: Source{Codes: path, Labels: labels}, Settings: small(300, "model.width=32",
		"train.optimizer.rate=0.01")})
	if !slices.Equal(p.Manifest.Classes, []string{"high", "low"}) || p.Manifest.Layout.Classes != 2 {
		t.Fatalf("classes %v", p.Manifest.Classes)
	}
	out := filepath.Join(base, "out.npy")
	draw := func(class *string, guidance float64) error {
		o := SampleOptions{Dir: dir, Output: out, Count: 40, Class: class, Sampling: gpt.DefaultSampling()}
		o.Sampling.Guidance = guidance
		_, err := trySample(t.Context(), o, task.Silent{})
		return err
	}
	for class, name := range []string{"low", "high"} {
		for _, guidance := range []float64{1, 1.5} {
			if err := draw(&name, guidance); err != nil {
				t.Fatal(err)
			}
			for i, row := range read(t, out) {
				if slices.ContainsFunc(row, func(code uint32) bool { return int(code/3) != class }) {
					t.Errorf("class %s, guidance %g: row %d is %v", name, guidance, i, row)
				}
			}
		}
	}
	if err := draw(nil, 1); err != nil {
		t.Fatal(err)
	}
	if drawn := slices.Concat(read(t, out)...); slices.Min(drawn) > 2 || slices.Max(drawn) < 3 {
		t.Error("without a class, rows of one class were drawn")
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	empty, unknown := "", "middle"
	for want, err := range map[string]error{
		`the prior knows no class ""; it was trained on high, low`:       draw(&empty, 1),
		`the prior knows no class "middle"; it was trained on high, low`: draw(&unknown, 1),
		"--guidance is towards a class; name one with --class":           draw(nil, 2),
	} {
		refused(t, err, want)
		if _, misused := errors.AsType[usage.Error](err); !misused {
			t.Errorf("%v is no misuse", err)
		}
	}
	if len(files(t, base)) != 1 {
		t.Errorf("left behind: %v", slices.Collect(maps.Keys(files(t, base))))
	}
}

// Bad input is one sentence and leaves nothing behind.
func TestSampleSaysWhatIsWrong(t *testing.T) {
	dir, plain, base := t.TempDir(), t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	trained(t, TrainOptions{Dir: plain, Source: Source{Codes: writeRows(t, grammar(), 5)}, Settings: small(2)})
	other := filepath.Join(t.TempDir(), "other")
	trainPictures(t, TrainOptions{Dir: other, Settings: small(2)})
	edit(t, filepath.Join(other, "manifest.json"), `"tokenizer_sha256": "`, `"tokenizer_sha256": "00`)
	damaged := filepath.Join(t.TempDir(), "photo.png")
	if err := os.WriteFile(damaged, []byte("\x89PNG\r\n\x1a\nno more"), 0o644); err != nil {
		t.Fatal(err)
	}
	class, at := "cat", func(name string) string { return filepath.Join(base, name) }
	for want, o := range map[string]SampleOptions{
		"-n 0 must be at least 1": {Dir: dir, Output: at("x.npy"), Count: -1},
		"a temperature of -1": {Dir: dir, Output: at("x.npy"),
			Sampling: gpt.SamplerOptions{Filter: gpt.Filter{Temperature: -1}}},
		"was trained without classes":                    {Dir: dir, Output: at("x.npy"), Class: &class},
		"models rows of codes, not pictures":             {Dir: plain, Output: at("grid.png")},
		"is not the tokenizer that the prior":            {Dir: other, Output: at("grid.png")},
		"x.jpg has no extension for samples":             {Dir: dir, Output: at("x.jpg")},
		"a grid of 5,000 pictures is too large":          {Dir: dir, Output: at("grid.png"), Count: 5000},
		"there is no directory":                          {Dir: dir, Output: at("none/x.tar")},
		"the picture is damaged: ":                       {Dir: dir, Output: at("folder"), Complete: damaged},
		"holds several pictures; name one":               {Dir: dir, Output: at("folder"), Complete: scenes},
		"was trained on codes alone":                     {Dir: plain, Output: at("x.npy"), Complete: damaged},
		"make one with: gritvq prior train tok":          {Dir: at("none"), Output: at("x.npy")},
		"is no prior but a tokenizer (kind \"pictures\"": {Dir: stored, Output: at("x.npy")},
	} {
		if o.Count == 0 {
			o.Count = 2
		}
		o.Count = max(0, o.Count)
		_, err := trySample(t.Context(), o, task.Silent{})
		refused(t, err, want)
		if left := files(t, base); len(left) > 0 {
			t.Fatalf("%s: left behind %v", want, slices.Collect(maps.Keys(left)))
		}
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func edit(t *testing.T, path, old, with string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), old) {
		t.Fatalf("cannot change %s: %v", path, err)
	}
	if err := os.WriteFile(path, seal.Renew([]byte(strings.Replace(string(content), old, with, 1))), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What lies below the middle of a picture does not matter to its completions, and their
// upper half has the codes of the picture with that part gone.
func TestCompletion(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	set, err := images.Open(t.Context(), scenes, images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	photo, err := set.Whole(3)
	if err != nil {
		t.Fatal(err)
	}
	var first [][]uint32
	for i, below := range []uint8{0, 90, 255} {
		for at := photo.Width * 8 * 3; at < len(photo.Pix); at++ {
			photo.Pix[at] = below
		}
		path, out := filepath.Join(base, "photo.png"), filepath.Join(base, "x.npy")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, photo), f.Close()); err != nil {
			t.Fatal(err)
		}
		sampled(t, SampleOptions{Dir: dir, Output: out, Count: 6, Complete: path})
		rows := read(t, out)
		if i == 0 {
			first = rows
		}
		if !slices.EqualFunc(first, rows, slices.Equal[[]uint32]) {
			t.Errorf("the completions of a picture with %d below differ", below)
		}
	}
	for i, row := range first[1:] {
		if !slices.Equal(row[:32], first[0][:32]) {
			t.Errorf("completion %d has another upper half", i+1)
		}
		if slices.Equal(row[32:], first[i][32:]) {
			t.Errorf("completions %d and %d have the same lower half", i, i+1)
		}
	}
}
