package prior

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/weights"
)

// untrainedPrior is a model of grids of 4 x 6 cells with random weights that are far from uniform.
func untrainedPrior(t *testing.T, vocab ...int) *Prior {
	t.Helper()
	m, err := gpt.New(gpt.Config{Layers: 2, Width: 16, Heads: 2, Precision: "bf16"}, gpt.Layout{Vocab: vocab, Cells: 24, Classes: 3})
	if err != nil {
		t.Fatal(err)
	}
	set := m.Init(5)
	for path, a := range set {
		if filepath.Dir(path) == "output" {
			for i := range a.Data {
				a.Data[i] *= 4
			}
		}
	}
	return &Prior{Manifest: Manifest{Height: 4, Width: 6, Pixels: 1}, Model: m, Weights: set}
}

// picture has codes by a rule, with some others among them.
func coded(height, width int, vocab ...int) codes.Picture {
	rng := weights.Rand(3, "codes")
	p := codes.Picture{Width: 4 * width, Height: 4*height - 1, Factor: 4, Fingerprint: [32]byte{8}}
	for _, k := range vocab {
		p.Vocab = append(p.Vocab, uint32(k))
	}
	for i := range height * width {
		for _, k := range vocab {
			code := (i/width + i%width) % k
			if rng.IntN(4) == 0 {
				code = rng.IntN(k)
			}
			p.Codes = append(p.Codes, uint32(code))
		}
	}
	return p
}

// Grids of any size come back from their files, which are the same whatever the number of threads.
func TestCodecGivesBackTheGrid(t *testing.T) {
	for _, vocab := range [][]int{{40}, {7, 11}} {
		c := &Codec{prior: untrainedPrior(t, vocab...), watch: task.Silent{}}
		for _, size := range [][2]int{{4, 6}, {1, 1}, {2, 9}, {11, 3}, {10, 17}} {
			p := coded(size[0], size[1], vocab...)
			var file bytes.Buffer
			if _, err := codes.EncodePredicted(t.Context(), &file, p, c); err != nil {
				t.Fatal(err)
			}
			content := bytes.Clone(file.Bytes())
			before := runtime.GOMAXPROCS(1)
			var alone bytes.Buffer
			_, err := codes.EncodePredicted(t.Context(), &alone, p, c)
			runtime.GOMAXPROCS(before)
			if err != nil || !bytes.Equal(alone.Bytes(), content) {
				t.Errorf("%v: one thread writes another file (%v)", size, err)
			}
			back, err := codes.DecodePredicted(t.Context(), &file, p.Fingerprint, c)
			if err != nil || !slices.Equal(back.Codes, p.Codes) {
				t.Errorf("%v of %v codes: other codes came back (%v)", size, vocab, err)
			}
		}
	}
}

// A file of the trained size has as many bits as the model's likelihood says.
func TestCodecTakesTheBitsOfTheLikelihood(t *testing.T) {
	vocab := []int{7, 11}
	p := untrainedPrior(t, vocab...)
	picture := coded(4, 6, vocab...)
	scorer, err := gpt.NewScorer(gradtest.Engine(t), p.Model, p.Weights)
	if err != nil {
		t.Fatal(err)
	}
	defer scorer.Close()
	losses, err := scorer.Score(t.Context(), []int32{p.Model.Layout.NoClass()}, picture.Codes, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, x := range losses {
		want += float64(x) / math.Ln2
	}
	var file bytes.Buffer
	size, err := codes.EncodePredicted(t.Context(), &file, picture, &Codec{prior: p, watch: task.Silent{}})
	if got := float64(size.Payload); err != nil || math.Abs(got-want) > 9 {
		t.Errorf("%g bits, by the likelihood %g (%v)", got, want, err)
	}
}

// Every cell is visited once, and known cells of a window are its context: of a picture that repeats what the prior has learned,
// cells beyond the first window take hardly any bits.
func TestCodecWindowsSeeEachOther(t *testing.T) {
	dir := t.TempDir()
	var rows [][]uint32
	for first := range uint32(8) { // an 8 x 8 grid is known from its first code
		var row []uint32
		for i := range uint32(64) {
			row = append(row, (first+i%8+3*(i/8))%8)
		}
		rows = append(rows, row)
	}
	trained(t, TrainOptions{Dir: dir, Source: Source{Tokenizer: stored, Codes: writeRows(t, rows, 8)},
		Settings: small(300, "train.optimizer.rate=0.01", "validation=0", "model.width=32")})
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	picture := codes.Picture{Width: 20, Height: 24, Factor: 1, Vocab: []uint32{8}}
	for i := range uint32(24 * 20) {
		picture.Codes = append(picture.Codes, (5+i%20+3*(i/20))%8)
	}
	visited := make([]int, len(picture.Codes))
	size, err := codes.EncodePredicted(t.Context(), &bytes.Buffer{}, picture, counting{&Codec{prior: p, watch: task.Silent{}}, visited})
	if err != nil || slices.Min(visited) != 1 || slices.Max(visited) != 1 {
		t.Fatalf("cells were visited %v times: %v", visited, err)
	}
	if independent := 3 * len(windows(24, 8)) * len(windows(20, 8)); size.Payload > 8*independent/10 {
		t.Errorf("%d bits; windows that know nothing of each other need %d for their first cells alone", size.Payload, independent)
	}
}

type counting struct {
	codes.Predictor
	visited []int
}

func (c counting) Walk(ctx context.Context, grid codes.CodeMap, visit func(at int, weights []uint32) error) error {
	return c.Predictor.Walk(ctx, grid, func(at int, weights []uint32) error {
		c.visited[at]++
		return visit(at, weights)
	})
}

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		cells, window int
		want          []int
	}{{1, 4, []int{0}}, {4, 4, []int{0}}, {5, 4, []int{0, 1}}, {8, 4, []int{0, 2, 4}}, {3, 1, []int{0, 1, 2}}, {11, 5, []int{0, 2, 4, 6}}} {
		if got := windows(c.cells, c.window); !slices.Equal(got, c.want) {
			t.Errorf("%d cells, windows of %d: %v, want %v", c.cells, c.window, got, c.want)
		}
	}
}

// A codec is opened for pictures of the prior's own tokenizer only.
func TestOpenCodecSaysWhatIsWrong(t *testing.T) {
	dir, plain, classes := t.TempDir(), t.TempDir(), t.TempDir()
	labels := filepath.Join(classes, "labels.csv")
	if err := os.WriteFile(labels, []byte("0,a\n1,b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	trained(t, TrainOptions{Dir: classes, Settings: small(2, "model.class_dropout=0", "validation=0"),
		Source: Source{Tokenizer: stored, Labels: labels, Codes: writeRows(t, [][]uint32{make([]uint32, 64), make([]uint32, 64)}, 8)}})
	p := trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	trained(t, TrainOptions{Dir: plain, Source: Source{Codes: writeRows(t, grammar(), 5)}, Settings: small(2)})
	b, err := p.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	own := b.Manifest.Fingerprint()
	c, err := OpenCodec(dir, own, stored, task.Silent{})
	if err != nil || c.Machine() != engine.Machine() {
		t.Fatalf("%+v, %v", c, err)
	}
	again := t.TempDir()
	trainPictures(t, TrainOptions{Dir: again, Settings: small(3)})
	if other, err := OpenCodec(again, own, stored, task.Silent{}); err != nil || other.Identity() == c.Identity() {
		t.Errorf("two priors have the same identity (%v)", err)
	}
	_, err = OpenCodec(dir, [32]byte{1}, "tok2", task.Silent{})
	refused(t, err, "was trained with another tokenizer than tok2; use its own")
	_, err = OpenCodec(plain, own, stored, task.Silent{})
	refused(t, err, "models rows of codes, not pictures")
	_, err = OpenCodec(classes, own, stored, task.Silent{})
	refused(t, err, "has always seen classes")
	_, err = OpenCodec(t.TempDir(), own, stored, task.Silent{})
	refused(t, err, "gritvq prior train tok")
}
