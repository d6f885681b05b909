package export

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/export/onnx"
	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/weights"
)

// stepJob are rows whose logits the step predicts, place by place.
type stepJob struct {
	Name   string    `json:"name"`
	Starts []int32   `json:"starts"`
	Codes  [][]int32 `json:"codes"`
	Cache  []int     `json:"cache"` // shape of the empty cache
}

const stepProgram = `
import json
import numpy as np, onnx, onnxruntime
result = {}
for job in json.load(open("jobs.json")):
    onnx.checker.check_model(onnx.load(job["name"] + ".onnx"), full_check=True)
    step = onnxruntime.InferenceSession(job["name"] + ".onnx")
    cache, previous = np.zeros(job["cache"], "f4"), np.zeros(len(job["starts"]), "i8")
    own = []
    for codes in np.array(job["codes"]).T:
        logits, cache = step.run(["logits", "grown"], {"start": np.array(job["starts"], "i8"), "previous": previous, "cache": cache})
        own.append(logits.astype("f8").ravel().tolist())
        previous = codes.astype("i8")
    result[job["name"]] = own
json.dump(result, open("result.json", "w"))
`

// The step gives the logits of the whole network at every place, of one level and of several, with heads of their own and tied.
func TestInteropPriorStep(t *testing.T) {
	python, dir := interop.Find(t, "onnx", "onnxruntime", "numpy"), t.TempDir()
	want, jobs := map[string][][]float32{}, []stepJob{}
	for name, l := range map[string]gpt.Layout{
		"one": {Vocab: []int{7}, Cells: 6}, "levels": {Vocab: []int{5, 5}, Cells: 4, Classes: 3},
		"uneven": {Vocab: []int{5, 3, 6}, Cells: 3, Classes: 2},
	} {
		c := gpt.Small()
		c.Layers, c.Width, c.Heads, c.Tied, c.Precision = 2, 8, 2, name == "uneven", "f32"
		m, err := gpt.New(c, l)
		if err != nil {
			t.Fatal(err)
		}
		set := m.Init(1)
		const rows = 4
		j := stepJob{Name: name, Cache: []int{2 * c.Layers, rows, c.Heads, 0, c.Width / c.Heads}}
		flat := []int32{}
		rng := weights.Rand(2, name)
		for range rows {
			row := []int32{}
			for at := range l.Tokens() {
				row = append(row, rng.Int32N(int32(l.Vocab[at%l.Levels()])))
			}
			j.Codes, j.Starts, flat = append(j.Codes, row), append(j.Starts, rng.Int32N(int32(l.Classes)+1)), append(flat, row...)
		}
		jobs, want[name] = append(jobs, j), logitsOf(t, m, set, j.Starts, flat)
		p := onnx.Prior{Blocks: m.Blocks().Transformer, Set: set, Vocab: l.Vocab, Tied: c.Tied}
		if err := os.WriteFile(filepath.Join(dir, name+".onnx"), p.Step("a test"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string][][]float64
	exchange(t, python, dir, stepProgram, jobs, &got)
	for name, places := range want {
		if len(got[name]) != len(places) {
			t.Fatalf("%s: %d places, want %d", name, len(got[name]), len(places))
		}
		for at, logits := range places {
			most := len(got[name][at]) / 4
			own := len(logits) / 4
			for i, x := range got[name][at] {
				switch code := i % most; {
				case code >= own:
					if x > -1e29 {
						t.Errorf("%s, place %d: a lacking code has logit %g", name, at, x)
					}
				case math.Abs(x-float64(logits[i/most*own+code])) > 1e-4:
					t.Fatalf("%s, place %d: logit %d is %g, want %g", name, at, i, x, logits[i/most*own+code])
				}
			}
		}
	}
}

// logitsOf are those of every place, from the whole network at once.
func logitsOf(t *testing.T, m *gpt.Model, set weights.Set, starts, rows []int32) [][]float32 {
	t.Helper()
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	tokens, width := m.Layout.Tokens(), m.Config.Width
	out, err := graph.CallOnceN(backend, func(in []*graph.Node) (all []*graph.Node) {
		v := weights.NewVars(func(path string) *graph.Node {
			return graph.Const(in[0].Graph(), tensors.FromFlatDataAndDimensions(set[path].Data, set[path].Shape...))
		})
		hidden := m.Hidden(v, in[0], in[1], nil)
		for at := range tokens {
			x := graph.Reshape(graph.Slice(hidden, graph.AxisRange(), graph.AxisRange(at, at+1)), len(starts), width)
			all = append(all, m.Logits(v, x, at%m.Layout.Levels()))
		}
		return all
	}, tensors.FromFlatDataAndDimensions(starts, len(starts)), tensors.FromFlatDataAndDimensions(rows, len(starts), tokens))
	if err != nil {
		t.Fatal(err)
	}
	var logits [][]float32
	for _, x := range out {
		logits = append(logits, tensors.MustCopyFlatData[float32](x))
	}
	return logits
}

// exchange runs a program on jobs.json and reads result.json.
func exchange(t *testing.T, python interop.Python, dir, program string, jobs, result any) {
	t.Helper()
	content, err := json.Marshal(jobs)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "jobs.json"), content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	python.Run(t, dir, program)
	if content, err = os.ReadFile(filepath.Join(dir, "result.json")); err == nil {
		err = json.Unmarshal(content, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A stored prior becomes its step and a page that says how rows are drawn.
func TestPriorBecomesStep(t *testing.T) {
	dir := t.TempDir()
	w, err := codes.Create(filepath.Join(dir, "codes.npy"), codes.Content{Vocab: []int{5}, Rows: 20, Cells: 6})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(20) {
		if err := w.WriteRows([]uint32{i % 5, 1, 2, i % 3, 4, 0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	o := prior.TrainOptions{Dir: filepath.Join(dir, "prior"), Backend: "go",
		Settings: prior.Settings{Set: []string{"model.layers=1", "model.width=16", "model.heads=2", "train.batch=8", "train.steps=1"}}}
	o.Source.Codes = filepath.Join(dir, "codes.npy")
	if _, err := prior.TrainPrior(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "networks")
	r, err := Run(t.Context(), Options{CodingOptions: tokenize.CodingOptions{Dir: o.Dir}, To: "onnx", Output: to}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.Files {
		names = append(names, filepath.Base(f.Name))
	}
	if !slices.Equal(names, []string{"step.onnx", "README.md"}) {
		t.Errorf("files %q", names)
	}
	card, err := os.ReadFile(filepath.Join(to, "README.md"))
	for _, part := range []string{"# ONNX networks of a prior", "A row has 6 codes", "`cache`: float32 [2, batch, 2, places, 8]"} {
		if !strings.Contains(string(card), part) {
			t.Errorf("the card lacks %q, %v:\n%s", part, err, card)
		}
	}
}
