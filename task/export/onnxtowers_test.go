package export

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/weights"
)

// towerJob are the inputs of both towers.
type towerJob struct {
	Name  string           `json:"name"`
	Query map[string]array `json:"query"`
	Items map[string]array `json:"items"`
}

type array struct {
	Shape []int   `json:"shape"`
	Data  []int32 `json:"data"`
}

const towersProgram = `
import json, os
import numpy as np, onnx, onnxruntime
result = {}
for job in json.load(open("jobs.json")):
    vectors = {}
    for tower in "query", "items":
        path = os.path.join(job["name"], tower + ".onnx")
        onnx.checker.check_model(onnx.load(path), full_check=True)
        inputs = {name: np.array(a["data"], "i8").reshape(a["shape"]) for name, a in job[tower].items()}
        vectors[tower], = onnxruntime.InferenceSession(path).run(["vectors"], inputs)
    result[job["name"]] = (vectors["query"].astype("f8") @ vectors["items"].astype("f8").T).tolist()
json.dump(result, open("result.json", "w"))
`

// silentPrior scores every item 0.
type silentPrior struct{ items int }

func (p silentPrior) Base() []float32                            { return make([]float32, p.items) }
func (silentPrior) Answer(network.Question) network.Likely       { return network.Likely{} }
func (silentPrior) AnswerWithout(network.Example) network.Likely { return network.Likely{} }

// The towers give the scores of the retriever: of histories and words, with all kinds of positions, norms and pools, with
// items' own vectors, and at the temperature of a prior.
func TestInteropTowers(t *testing.T) {
	python, dir := interop.Find(t, "onnx", "onnxruntime", "numpy"), t.TempDir()
	want, jobs := map[string][][]float32{}, []towerJob{}
	for name, change := range map[string]func(c *twotower.Config){
		"plain": func(c *twotower.Config) { c.Own = false },
		"own":   func(c *twotower.Config) { c.Positions, c.Norm, c.Pool = "relative", "rms", "first" },
		"cosine": func(c *twotower.Config) {
			c.Similarity, c.ItemLayers, c.Positions, c.Activation = "cosine", 0, "none", "relu"
		},
		"prior":    func(c *twotower.Config) { c.Activation = "silu" },
		"search":   func(c *twotower.Config) { c.Own = false },
		"searches": func(c *twotower.Config) { c.Positions = "relative" },
	} {
		j, scores := towersOf(t, filepath.Join(dir, name), name, change)
		jobs, want[name] = append(jobs, j), scores
	}
	var got map[string][][]float64
	exchange(t, python, dir, towersProgram, jobs, &got)
	for name, rows := range want {
		for i, row := range rows {
			for item, score := range row {
				if d := math.Abs(got[name][i][item] - float64(score)); !(d <= 1e-4*max(1, math.Abs(float64(score)))) {
					t.Fatalf("%s: question %d gives item %d the score %g, want %g", name, i, item, got[name][i][item], score)
				}
			}
		}
	}
}

// towersOf writes the networks of a model with made-up weights, and returns their inputs and the retriever's scores.
func towersOf(t *testing.T, dir, name string, change func(*twotower.Config)) (towerJob, [][]float32) {
	t.Helper()
	vocab, ids := []int{4, 3, 5}, []uint32{0, 0, 0, 3, 2, 4, 1, 1, 1, 2, 0, 3, 1, 2, 2}
	size, started := recommend.Size{Vocab: vocab, Items: 4}, "none" // the fifth item was added later
	if name == "prior" {
		started = "ease"
	}
	dual, search := recommend.DefaultDual(), recommend.DefaultSearch()
	dual.Prior, search.Prior = started, started
	var c recommend.Config = dual
	own := &dual.Model
	words := strings.HasPrefix(name, "search")
	if words {
		c, own = search, &search.Model
	}
	own.Layers, own.ItemLayers, own.Width, own.FeedForward, own.Heads, own.HeadDim, own.Length, own.WordBuckets = 2, 1, 8, 12, 2, 3, 6, 50
	change(own)
	model, err := c.New(size)
	if err != nil {
		t.Fatal(err)
	}
	m := model.(interface{ Dual() *twotower.Model }).Dual()
	set := m.Init(1)
	for _, path := range set.Paths() {
		if !strings.HasSuffix(path, "scale") && path != "temperature" && path != "prior_weight" {
			set[path] = weights.Normal(weights.Rand(2, path), 0.3, set[path].Shape...)
		}
	}
	r := &recommend.Recommender{Config: c, Model: model, Weights: set}
	r.Manifest.Vocab = vocab
	n, err := networksOfTowers(m, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range n.files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	questions := []network.Question{{History: []int32{0, 3, 4}}, {History: []int32{2}}, {History: []int32{1, 1, 0, 2, 3, 4}}}
	if words {
		questions = []network.Question{{Text: "Coconut oil"}, {Text: "soap"}, {Text: "a b c d e f"}}
	}
	return inputsOf(m, name, questions, ids, own.Own), scoresOf(t, m, set, ids, vocab, questions, started != "none")
}

// inputsOf lays questions and items out as the card says.
func inputsOf(m *twotower.Model, name string, questions []network.Question, ids []uint32, own bool) towerJob {
	const places, positions, items = 6, 3, 5
	history, numbers, words, lengths := make([]int32, len(questions)*places*positions), make([]int32, len(questions)*places),
		make([]int32, len(questions)*places), make([]int32, len(questions))
	number := func(item int32) int32 {
		if item == items-1 {
			return 0
		}
		return item + 1
	}
	for i, q := range questions {
		lengths[i] = int32(copy(words[i*places:], m.Words(q.Text)))
		for at := range q.History {
			item := q.History[len(q.History)-1-at]
			numbers[i*places+at], lengths[i] = number(item), int32(len(q.History))
			for p := range positions {
				history[(i*places+at)*positions+p] = int32(ids[int(item)*positions+p])
			}
		}
	}
	j := towerJob{Name: name, Query: map[string]array{"lengths": {[]int{len(questions)}, lengths}}, Items: map[string]array{}}
	if m.Searches() {
		j.Query["words"] = array{[]int{len(questions), places}, words}
	} else {
		j.Query["history"] = array{[]int{len(questions), places, positions}, history}
	}
	codes, all := []int32{}, []int32{}
	for i, code := range ids {
		codes = append(codes, int32(code))
		if i%positions == 0 {
			all = append(all, number(int32(i/positions)))
		}
	}
	j.Items["codes"] = array{[]int{items, positions}, codes}
	if own {
		j.Items["items"] = array{[]int{items}, all}
		if !m.Searches() {
			j.Query["items"] = array{[]int{len(questions), places}, numbers}
		}
	}
	return j
}

// scoresOf are the retriever's scores of all items.
func scoresOf(t *testing.T, m *twotower.Model, set weights.Set, ids []uint32, vocab []int, questions []network.Question,
	prior bool) [][]float32 {
	t.Helper()
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	items, err := network.NewItems(ids, vocab)
	if err != nil {
		t.Fatal(err)
	}
	o := network.Options{Index: "exact"}
	if prior {
		o.Prior = silentPrior{items.Len()}
	}
	r, err := twotower.NewRetriever(t.Context(), backend, m, set, items, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	scores := make([][]float32, len(questions))
	if prior {
		err = r.Scores(t.Context(), questions, func(i int, own []float32) { scores[i] = append(scores[i], own...) })
	} else {
		var lists [][]network.Scored
		lists, err = r.Top(t.Context(), questions, items.Len())
		for i, list := range lists {
			scores[i] = make([]float32, items.Len())
			for _, s := range list {
				scores[i][s.Item] = float32(s.Score)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

// Stored dual encoders become towers; other models are refused with a sentence.
func TestStoredModelsBecomeTowers(t *testing.T) {
	for kind, want := range map[string]string{"dual": "query.onnx", "search": "query.onnx", "generative": "only dual encoders have towers",
		"ids": "is no tokenizer but a table of IDs"} {
		to := filepath.Join(t.TempDir(), "networks")
		from := tokenize.CodingOptions{Dir: "../../testdata/stored/" + kind}
		_, err := Run(t.Context(), Options{CodingOptions: from, To: "onnx", Output: to}, task.Silent{})
		if strings.HasSuffix(want, ".onnx") {
			if _, missing := os.Stat(filepath.Join(to, want)); err != nil || missing != nil {
				t.Errorf("%s: %v, %v", kind, err, missing)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}
