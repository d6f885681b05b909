package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// scenes opens built-in pictures of 16 x 16 pixels.
func scenes(t *testing.T, query string) *images.Set {
	t.Helper()
	set, err := images.Open(t.Context(), "synthetic:scenes?size=16&"+query, images.Options{Size: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// pictured runs tiny cells on 40 built-in pictures and 10 held-out ones.
func pictured(t *testing.T, dir string) (*runner, func(method string, steps int) Cell) {
	t.Helper()
	engine, err := engines("go")
	if err != nil {
		t.Fatal(err)
	}
	images, held := scenes(t, "images=40"), scenes(t, "images=10&seed=9")
	c := &runner{dir: dir, watch: task.Silent{}, engine: engine, subject: &subject{kind: OfPictures, fingerprint: "sha256:scenes",
		source: vqtrain.Source{Set: images, HeldSet: held, Train: dataset.All(images.Len()), Held: dataset.All(held.Len())}}}
	return c, func(method string, steps int) Cell {
		config, err := vqtrain.Pictures("default", method)
		if err != nil {
			t.Fatal(err)
		}
		config.Model.Dim, config.Model.Image.Size, config.Model.Image.Widths = 4, 16, []int{4, 8}
		config.Quantizer.Codes, config.Quantizer.Transform.Rank = 16, 4
		l := &config.Train
		l.Steps, l.Batch, l.Log, l.Checkpoint, l.Evaluate, l.Schedule.Warmup = steps, 4, 3, 5, 6, 1
		cell, err := newCell(method, c.subject, Point{Codes: 16, Levels: 1, Parts: 1}, config, nil)
		if err != nil || cell.Err != nil {
			t.Fatal(err, cell.Err)
		}
		return cell
	}
}

// Scores, counts and pictures of a record say the same.
func TestPictureScoresAreConsistent(t *testing.T) {
	c, cell := pictured(t, t.TempDir())
	records, err := c.run(t.Context(), []Cell{cell("ste", 12), cell("grit", 12)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s := r.Scores
		if r.Error != "" {
			t.Fatal(r.Error)
		}
		// Cells of 2 x 2 pixels: 64 a picture, 40 + 10 pictures, 4 bits each.
		tokens, used := uint64(0), 0.0
		for _, n := range r.Usage[0] {
			tokens += n
			if n > 0 {
				used++
			}
		}
		if tokens != 64*50 || s["tokens_per_code"] != 64*50/16 || s["tokens_per_code_held"] != 64*10/16 || s["bits_per_pixel"] != 1 {
			t.Errorf("%s: %d tokens, %v", r.Method, tokens, s)
		}
		if s["utilization"] != used/16 || math.Abs(s["utilization"]+s["dead_rate"]-1) > 1e-12 || s["utilization_held"] > s["utilization"] ||
			s["perplexity"] > used+1e-9 {
			t.Errorf("%s: %g codes used, %v", r.Method, used, s)
		}
		for _, skipped := range []string{"lpips", "frechet", "kid"} {
			if _, measured := s[skipped]; measured {
				t.Errorf("%s: there is no network, and %s is %g", r.Method, skipped, s[skipped])
			}
		}
		if len(r.Samples) != sampledPictures || s["psnr"] <= 0 || s["ssim"] == 0 || s["train_seconds"] <= 0 || s["parameters"] < 16*4 {
			t.Errorf("%s: %d pictures, %v", r.Method, len(r.Samples), s)
		}
		held := 0
		for _, m := range r.Course {
			if m.Held != nil {
				held++
			}
		}
		if last := r.Course[len(r.Course)-1]; last.Step != 12 || last.Utilization == nil || *last.Utilization+*last.DeadRate != 1 || held < 2 {
			t.Errorf("%s: %d held-out scores in the course %+v", r.Method, held, r.Course)
		}
	}
	a, err := png.Decode(bytes.NewReader(records[0].Samples[0].Original))
	if err != nil || a.Bounds().Dx() != 16 || !bytes.Equal(records[0].Samples[0].Original, records[1].Samples[0].Original) {
		t.Errorf("the methods were shown different originals, %v", err)
	}
}

// A cell of pictures that was cut short goes on and ends as one that was not.
func TestHalfTrainedPictureCellsGoOn(t *testing.T) {
	whole, cell := pictured(t, t.TempDir())
	want, err := whole.run(t.Context(), []Cell{cell("ema", 12)})
	if err != nil || want[0].Error != "" {
		t.Fatal(err, want[0].Error)
	}
	broken, cell := pictured(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broken.watch = &watcher{step: func(done int) {
		if done == 7 {
			cancel()
		}
	}}
	if _, err := broken.run(ctx, []Cell{cell("ema", 12)}); !errors.Is(err, train.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	broken.watch = task.Silent{}
	got, err := broken.run(t.Context(), []Cell{cell("ema", 12)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Record{want[0], got[0]} {
		delete(r.Scores, "train_seconds")
	}
	if !reflect.DeepEqual(got[0], want[0]) {
		t.Errorf("scores %v, uninterrupted %v", got[0].Scores, want[0].Scores)
	}
	if _, err := os.Stat(filepath.Join(broken.dir, "work")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work directory was left behind: %v", err)
	}
}

// judged is a record of pictures with a PSNR for a seed.
func judged(method string, seed uint64, psnr float64) Record {
	used, dead := 0.75, 0.25
	return Record{ID: method, Method: method, Point: small, Seed: seed, Vocab: []int{4}, Usage: [][]uint64{{3, 1, 1, 0}},
		Scores: table.Scores{"psnr": psnr, "ssim": 0.5, "utilization": 0.75, "dead_rate": 0.25, "bits_per_pixel": 0.5},
		Course: []Moment{{Step: 1, Utilization: &used, DeadRate: &dead}, {Step: 2, Utilization: &used, DeadRate: &dead, Held: &psnr}}}
}

func TestPicturesAreRankedByPSNR(t *testing.T) {
	list := OfPictures.Summarize([]Record{judged("low", 1, 20), judged("high", 1, 25), judged("near", 1, 24.985), judged("far", 1, 24.97)})
	var order []string
	for _, s := range list {
		order = append(order, s.Method)
	}
	if want := []string{"high", "near", "far", "low"}; !slices.Equal(order, want) {
		t.Fatalf("order %v, want %v", order, want)
	}
	if !list[0].Best() || !list[1].Tied() || list[2].Tied() {
		t.Errorf("best %v; 0.015 dB below is tied: %v; 0.03 dB below: %v", list[0].Best(), list[1].Tied(), list[2].Tied())
	}
	if text := list[3].differenceText(); text != "-5.00 dB" {
		t.Errorf("the difference reads %q", text)
	}
}

func TestUnmeasuredScoresHaveNoColumn(t *testing.T) {
	list := OfPictures.Summarize([]Record{judged("a", 1, 20), judged("a", 2, 22), judged("b", 1, 19)})
	var text bytes.Buffer
	if err := OfPictures.Table(list, true).Text(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "lpips") || !strings.Contains(text.String(), "21.0 ± 1.4") ||
		!strings.Contains(text.String(), "75.0%") {
		t.Errorf("the table is\n%s", text.String())
	}
	content, err := json.Marshal(list[0])
	if err != nil || !strings.Contains(string(content), `"lpips":{"mean":null,"std":null}`) ||
		!strings.Contains(string(content), `"bits_per_pixel":0.5`) {
		t.Errorf("as JSON: %s, %v", content, err)
	}
}

// What all methods share does not stand out.
func TestOnlyWinnersStandOut(t *testing.T) {
	list := OfPictures.Summarize([]Record{judged("a", 1, 20), judged("b", 1, 19)})
	table := OfPictures.Table(list, false)
	for name, want := range map[string][]bool{"psnr": {true, false}, "ssim": {false, false}, "used": {false, false}} {
		at := slices.IndexFunc(table.Columns, func(c report.Column) bool { return c.Name == name })
		if table.Rows[0][at].Strong != want[0] || table.Rows[1][at].Strong != want[1] {
			t.Errorf("%s: %+v and %+v", name, table.Rows[0][at], table.Rows[1][at])
		}
	}
}

func TestPageOfPicturesShowsEveryMethod(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, images.NewRGB(8, 8)); err != nil {
		t.Fatal(err)
	}
	a, b := judged("first", 1, 25), judged("second", 1, 24)
	psnr := 12.0
	a.Samples = []Sample{{Original: file.Bytes(), Decoded: file.Bytes()}, {Original: file.Bytes(), Decoded: file.Bytes(), PSNR: &psnr}}
	b.Samples, b.Notes = a.Samples, []string{"A note."}
	page := func(records ...Record) (string, error) {
		list := OfPictures.Summarize(records)
		r := Results{Kind: OfPictures, Methods: list, Data: Data{Name: "x.tar", Size: 8},
			Settings: Settings{Points: []Point{small}, Seeds: []uint64{1}}}
		drawn, err := r.Page()
		if err != nil {
			return "", err
		}
		var text bytes.Buffer
		err = drawn.Render(&text)
		return text.String(), err
	}
	text, err := page(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"data:image/png", "2 pictures above the reconstructions of 2 methods", "Dead codes", "Held-out PSNR",
		"Codes in use", "A note.", "of 8 x 8 pixels"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "Errors of held-out rows") {
		t.Error("the page of pictures has a chart of rows")
	}
	b.Samples = []Sample{{Original: []byte("no PNG")}}
	if _, err := page(b); err == nil || !strings.Contains(err.Error(), "damaged picture") {
		t.Errorf("a damaged picture gave %v", err)
	}
}

// The classical reference of pictures is scored as every other method, and equals what training shows beside its result.
func TestPatchesAreTheReferenceOfPictures(t *testing.T) {
	r, cell := pictured(t, t.TempDir())
	kmeans := cell("kmeans", 0)
	records, err := r.run(t.Context(), []Cell{kmeans})
	if err != nil || records[0].Error != "" {
		t.Fatal(err, records[0].Error)
	}
	engine, release, err := r.engine()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	tok, err := tokenizer.New(kmeans.Config.Spec, r.subject.source.Set.Input())
	if err != nil {
		t.Fatal(err)
	}
	s := r.subject.source
	want, err := picture.MeasureReference(t.Context(), engine, tok, s.Set, s.HeldSet, s.Train, s.Held, kmeans.Config.Seed)
	if err != nil {
		t.Fatal(err)
	}
	if got := records[0].Scores["psnr"]; got != want.Scores.PSNR {
		t.Errorf("PSNR %v, the reference's is %v", got, want.Scores.PSNR)
	}
	if len(records[0].Samples) == 0 || records[0].Scores["utilization"] == 0 {
		t.Error("no samples or use of codes")
	}
	names, err := contenders(Options{}, true)
	if err != nil || names[0] != "kmeans" || slices.Contains(names, "rq") {
		t.Errorf("methods of pictures: %v, %v", names, err)
	}
}
