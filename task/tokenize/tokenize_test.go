package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

const mixture = "synthetic:mixture?rows=400&dim=8"

// configure assembles a small configuration.
func configure(t *testing.T, pictures bool, sets ...string) vqtrain.Config {
	t.Helper()
	c, err := Settings{Preset: "default", Pictures: pictures, Sets: sets}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trainVectors trains a tokenizer of 2 levels of 8 codes.
func trainVectors(t *testing.T) (*Trained, TrainOptions) {
	t.Helper()
	o := TrainOptions{
		Config: configure(t, false, "quantizer.codes=8", "quantizer.levels=2", "model.hidden=[]", "model.dim=0", "train.steps=20",
			"train.batch=32"),
		Input: Input{Path: mixture}, Output: filepath.Join(t.TempDir(), "tok"), Backend: "go", Command: "a test",
	}
	trained, err := Train(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return trained, o
}

// notes keeps remarks.
type notes struct {
	task.Silent
	list []string
}

func (n *notes) Remark(format string, args ...any) {
	n.list = append(n.list, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func TestTrainWritesABundleAndRefusesToReplaceIt(t *testing.T) {
	trained, o := trainVectors(t)
	m := trained.Bundle.Manifest
	if m.Command != "a test" || m.Data.Rows != 400 || m.Data.HeldRows != 40 || m.Metrics.Held.Vectors != 40 || len(trained.Bundle.Usage) != 2 {
		t.Errorf("the manifest is %+v", m)
	}
	if page, err := os.ReadFile(trained.Report); err != nil || !strings.Contains(string(page), "Training report: "+mixture[:17]) {
		t.Errorf("the report has %d bytes, %v", len(page), err)
	}
	if tables := Tables(m); len(tables) != 2 || len(tables[0].Columns) != 3 || len(tables[1].Rows) != 2 {
		t.Errorf("the tables are %+v", tables)
	}
	if _, err := Train(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "holds a finished tokenizer") {
		t.Errorf("a second run gave %v", err)
	}
	o.Resume = true
	var n notes
	again, err := Train(t.Context(), o, &n)
	if err != nil || again.Bundle.Manifest.Fingerprint() != m.Fingerprint() || !slices.Contains(n.list, o.Output+" is already finished") {
		t.Errorf("resuming a finished run gave %v and %q", err, n.list)
	}
	o.Config.Seed++
	if _, err := Train(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "finished with other settings") {
		t.Errorf("resuming with another seed gave %v", err)
	}
	o.Force = true
	if _, err := Train(t.Context(), o, task.Silent{}); err != nil {
		t.Error(err)
	}
}

// Held-out rows have no part in the standardization.
func TestHeldOutRowsDoNotStandardize(t *testing.T) {
	c := configure(t, false, "train.split=0.5")
	train, held := dataset.Split(40, 0.5, c.Seed)
	rows := make([]float32, 40)
	for i := range train.Len() {
		rows[train.At(i)] = float32(i % 2)
	}
	for i := range held.Len() {
		rows[held.At(i)] = 100
	}
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := vectors.Write(path, 1, rows); err != nil {
		t.Fatal(err)
	}
	data, err := Input{Path: path}.Open(t.Context(), &c, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if data.Mean[0] != 0.5 || data.Variance[0] != 0.25 {
		t.Errorf("mean %g and variance %g, want 0.5 and 0.25 of the training rows", data.Mean[0], data.Variance[0])
	}
}

func TestAFailedRunLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tok")
	c := configure(t, false, "quantizer.codes=500", "model.hidden=[]", "model.dim=0")
	_, err := Train(t.Context(), TrainOptions{Config: c, Input: Input{Path: mixture}, Output: dir, Backend: "go"}, task.Silent{})
	if err == nil || !strings.Contains(err.Error(), "fewer than the 500 codes") {
		t.Errorf("too few rows gave %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory was left behind")
	}
}

func TestVectorsToCodesAndBack(t *testing.T) {
	trained, _ := trainVectors(t)
	coding := CodingOptions{Dir: trained.Dir, Input: mixture, Backend: "go"}
	file, decoded := filepath.Join(t.TempDir(), "codes.gvq"), filepath.Join(t.TempDir(), "x.npy")
	result, err := Encode(t.Context(), EncodeOptions{CodingOptions: coding, Output: file}, task.Silent{})
	if w, ok := result.(Written); err != nil || !ok || w.Rows != 400 || w.Columns != 2 || w.Bytes == 0 ||
		!strings.HasPrefix(w.String(), file+": 400 rows of 2 codes, ") {
		t.Fatalf("encode gave %+v, %v", result, err)
	}
	result, err = Decode(t.Context(), DecodeOptions{Dir: trained.Dir, Input: file, Output: decoded, Backend: "go"}, task.Silent{})
	if w, ok := result.(Written); err != nil || !ok || w.Rows != 400 || w.Columns != 8 {
		t.Fatalf("decode gave %+v, %v", result, err)
	}
	// Decoded vectors are their own nearest reconstructions.
	coding.Input = decoded
	again := filepath.Join(t.TempDir(), "again.npy")
	if _, err := Encode(t.Context(), EncodeOptions{CodingOptions: coding, Output: again}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	if first, second := readCodes(t, file), readCodes(t, again); !slices.Equal(first, second) {
		t.Error("decoded vectors have other codes")
	}
	e, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding}, task.Silent{})
	if s, ok := e.Result.(*tokenizer.Scores); err != nil || !ok || s.MSE > 1e-6 || len(e.Tables) != 2 {
		t.Errorf("eval gave %+v, %v", e, err)
	}
	coding.Levels = 3
	if _, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding}, task.Silent{}); !isUsage(err) {
		t.Errorf("a third level gave %v", err)
	}
	i, err := Inspect(trained.Dir)
	if err != nil || len(i.Levels) != 2 || i.BitsPerVector != 6 || i.Parameters.Codes != 2*8*8 || i.Tokens != 1 {
		t.Errorf("inspect gave %+v, %v", i, err)
	}
}

func readCodes(t *testing.T, path string) []uint32 {
	t.Helper()
	f, err := codes.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := make([]uint32, f.Len()*f.Levels())
	if err := f.Rows(0, f.Len(), list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPicturesToCodesAndBack(t *testing.T) {
	const scenes = "synthetic:scenes?images=20&size=16"
	dir := t.TempDir()
	tok := filepath.Join(dir, "tok")
	c := configure(t, true, "model.image.size=16", "model.image.widths=[4,8]", "model.dim=4", "quantizer.codes=8",
		"train.steps=4", "train.batch=4", "train.perceptual=0")
	_, err := Train(t.Context(), TrainOptions{
		Config: c, Input: Input{Path: scenes, FixedPerceptual: true}, Output: tok, Backend: "go",
	}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	coding := CodingOptions{Dir: tok, Input: scenes, Backend: "go"}
	file := filepath.Join(dir, "codes.npy")
	result, err := Encode(t.Context(), EncodeOptions{CodingOptions: coding, Output: file}, task.Silent{})
	if w, ok := result.(Written); err != nil || !ok || w.Rows != 20 || w.Columns != 64 {
		t.Fatalf("encode gave %+v, %v", result, err)
	}
	folder := filepath.Join(dir, "out")
	result, err = Decode(t.Context(), DecodeOptions{Dir: tok, Input: file, Output: folder, Backend: "go"}, task.Silent{})
	if err != nil || !strings.Contains(result.String(), "20 pictures of 16 x 16 pixels") {
		t.Fatalf("decode gave %v, %v", result, err)
	}
	pictures, err := filepath.Glob(filepath.Join(folder, "*.png"))
	if err != nil || len(pictures) != 20 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	coding.Input = pictures[0]
	one, restored := filepath.Join(dir, "one.gvq"), filepath.Join(dir, "one.png")
	result, err = Encode(t.Context(), EncodeOptions{CodingOptions: coding, Output: one}, task.Silent{})
	if p, ok := result.(CodedPicture); err != nil || !ok || p.Width != 16 || p.Codes != 64 {
		t.Fatalf("encoding a picture gave %+v, %v", result, err)
	}
	result, err = Decode(t.Context(), DecodeOptions{Dir: tok, Input: one, Output: restored, Backend: "go"}, task.Silent{})
	if err != nil || result != (Drawn{restored, 16, 16}) {
		t.Fatalf("decoding a picture gave %+v, %v", result, err)
	}
	checkPredictors(t, coding, file, one)
	coding.Input = folder
	e, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding}, task.Silent{})
	if s, ok := e.Result.(*picture.Scores); err != nil || !ok || s.Images != 20 {
		t.Errorf("eval gave %+v, %v", e, err)
	}
	if content, err := json.Marshal(e); err != nil || !strings.HasPrefix(string(content), `{"psnr":`) {
		t.Errorf("the scores are %s, %v", content, err)
	}
	drawing := filepath.Join(dir, "grid.png")
	if _, err := Grid(t.Context(), GridOptions{CodingOptions: coding, Output: drawing, Images: 2}, task.Silent{}); err != nil {
		t.Error(err)
	}
	if _, err := Grid(t.Context(), GridOptions{CodingOptions: coding, Output: "grid.jpg", Images: 2}, task.Silent{}); !isUsage(err) {
		t.Errorf("a .jpg gave %v", err)
	}
	coding.Input = mixture
	if _, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding}, task.Silent{}); err == nil {
		t.Error("vectors were scored as pictures")
	}
}

// checkPredictors tests options of one picture, which coding names, with a file of codes and a coded picture of its tokenizer.
func checkPredictors(t *testing.T, coding CodingOptions, rows, one string) {
	t.Helper()
	open := func(fingerprint [32]byte, name string) (codes.Predictor, error) {
		return nil, fmt.Errorf("no predictor for %s: %t", name, fingerprint != [32]byte{})
	}
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	encode := func(o EncodeOptions, want string) error {
		o.Predictor = open
		_, err := Encode(t.Context(), o, task.Silent{})
		if err == nil || !strings.Contains(err.Error(), want) || len(left(t, o.Output)) > 0 {
			t.Errorf("encoding %s: %v, left %v", o.Output, err, left(t, o.Output))
		}
		return err
	}
	encode(EncodeOptions{CodingOptions: coding, Output: at("x.gvq")}, "no predictor for "+coding.Dir+": true")
	if err := encode(EncodeOptions{CodingOptions: coding, Output: at("x.npy")}, "--prior is for one picture"); !isUsage(err) {
		t.Errorf("%v is no misuse", err)
	}
	decode := func(o DecodeOptions, want string) error {
		o.Dir, o.Backend, o.Predictor = coding.Dir, coding.Backend, open
		_, err := Decode(t.Context(), o, task.Silent{})
		if err == nil || !strings.Contains(err.Error(), want) || len(left(t, o.Output)) > 0 {
			t.Errorf("decoding %s: %v, left %v", o.Input, err, left(t, o.Output))
		}
		return err
	}
	decode(DecodeOptions{Input: one, Output: at("x.png")}, "no predictor for ")
	if err := decode(DecodeOptions{Input: rows, Output: at("x.tar")}, "--prior is for the .gvq file of one picture"); !isUsage(err) {
		t.Errorf("%v is no misuse", err)
	}
}

// left lists what is in the directory of a path.
func left(t *testing.T, path string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usage.Error](err)
	return ok
}

// An error about settings from a file for another method says how to get a file.
func TestSettingsOfAnotherMethodAreExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grit.yaml")
	if err := os.WriteFile(file, []byte("quantizer: {method: grit}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Settings{Preset: "default", File: file}
	cause := errors.New("no transform")
	err := s.Explain(usage.Error{Err: &UnsuitedError{"ema", cause}})
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "config --method ema") {
		t.Errorf("got %v", err)
	}
	if err := s.Explain(usage.Error{Err: &UnsuitedError{"grit", cause}}); strings.Contains(err.Error(), "config --method") {
		t.Errorf("got %v", err)
	}
	if err := s.Explain(cause); err != cause {
		t.Errorf("got %v", err)
	}
}

func TestNamesOfPositionsAndScores(t *testing.T) {
	l := vq.Layout{Parts: 2, Levels: 2}
	if got := []string{PositionLabel(l, 1), PositionLabel(vq.Layout{Parts: 2, Levels: 1}, 1),
		PositionLabel(vq.Layout{Parts: 1, Levels: 4}, 3), PositionColumn(l),
	}; !slices.Equal(got, []string{"part 0, level 1", "part 1", "3", "code"}) {
		t.Errorf("got %q", got)
	}
	if got := RelativeError(&tokenizer.Scores{RelativeError: math.Inf(1)}); got != "n/a" {
		t.Errorf("got %s", got)
	}
}
