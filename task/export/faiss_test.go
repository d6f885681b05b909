package export

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/export/faiss"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
)

// exported writes an index with the vectors at data.
func exported(t testing.TB, dir, data, output, ids string) Result {
	t.Helper()
	r, err := Run(t.Context(), Options{CodingOptions: tokenize.CodingOptions{Dir: dir, Input: data, Backend: "go"}, To: "faiss",
		Output: output, IDs: ids}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// principal makes a linear encoder a projection on orthonormal axes, and the decoder its transpose.
func principal(b *bundle.Bundle) {
	in, out := b.Weights["encoder/layer0/weights"], b.Weights["decoder/layer0/weights"]
	d := in.Shape[1]
	for i := range width {
		for j := range d {
			v := float32(0)
			if i/2 == j { // one of two neighbours each
				v = [2]float32{0.6, 0.8}[i%2]
			}
			in.Data[i*d+j], out.Data[j*width+i] = v, v
		}
	}
	shift := b.Weights["encoder/layer0/bias"]
	for j := range d {
		shift.Data[j] = float32(j) / 10
	}
	for i := range width {
		b.Weights["decoder/layer0/bias"].Data[i] = -in.Data[i*d+i/2] * shift.Data[i/2]
	}
}

const faissProgram = `
import faiss, json, sys
import numpy as np
x = np.load("x.npy")
for name in sys.argv[1:]:
    path = name + ".faiss"
    index = faiss.read_index(path)
    faiss.write_index(index, "again")
    assert open(path, "rb").read() == open("again", "rb").read(), name + ": other bytes"
    inner = faiss.downcast_index(index.index) if isinstance(index, faiss.IndexIDMap) else index
    decoded = np.load(name + ".decoded.npy")
    worst = abs(inner.reconstruct_n(0, len(x)) - decoded).max()
    assert worst < 1e-5, f"{name}: decoded vectors differ by {worst}"
    stored = inner
    while isinstance(stored, faiss.IndexPreTransform):
        stored = faiss.downcast_index(stored.index)
    assert isinstance(stored, faiss.IndexPQ if name in ("product", "opq") else faiss.IndexResidualQuantizer), name
    ours = faiss.vector_to_array(stored.codes).reshape(len(x), -1)[:1000]
    theirs = inner.sa_encode(x[:1000])
    other = (ours != theirs).any(1)
    both = [((inner.sa_decode(codes) - x[:1000]) ** 2).sum(1) for codes in (ours, theirs)]
    near = abs(both[0] - both[1]) <= 1e-5 * both[1]
    assert near[other].all() and other.sum() < 10, f"{name}: {other.sum()} rows have other codes"
    own = json.load(open(name + ".found.json"))
    if isinstance(stored, faiss.IndexResidualQuantizer):
        assert stored.rq.max_beam_size == own["beam"], f"{name}: beam {stored.rq.max_beam_size}, want {own['beam']}"
        stored.rq.max_beam_size = 1
        theirs, greedy = inner.sa_decode(inner.sa_encode(x)), np.load(name + ".greedy.npy")
        stored.rq.max_beam_size = own["beam"]
        both = [((y - x) ** 2).sum(1) for y in (greedy, theirs)]
        other = abs(greedy - theirs).max(1) > 1e-5
        near = abs(both[0] - both[1]) <= 1e-5 * both[1]
        assert near[other].all() and other.sum() < 10, f"{name}: {other.sum()} rows have other codes with beam 1"
    distances, found = index.search(x[:50], 10)
    want = np.array(own["found"])
    costs = ((x[:50, None, :] - decoded[want]) ** 2).sum(2)
    if isinstance(index, faiss.IndexIDMap):
        found = found - 10**12
    ties = abs(costs - distances) <= 1e-4 * costs
    assert ((found == want) | ties).all() and (found == want).mean() > 0.9, name + ": other neighbours"
`

// FAISS reads, decodes, encodes and searches indexes of five kinds of tokenizer as gritvq does, and writes them back byte
// for byte.
func TestInteropFAISS(t *testing.T) {
	python, dir := interop.Find(t, "faiss", "numpy"), t.TempDir()
	data, values := someVectors(t, dir)
	linear := trained(t, dir, "linear", data, "quantizer.method=ste", "quantizer.codes=32", "quantizer.levels=3", "model.dim=8",
		"model.hidden=[]",
		"quantizer.beam=4")
	ids := filepath.Join(dir, "ids.txt")
	var lines strings.Builder
	for i := range rows {
		fmt.Fprintln(&lines, 1_000_000_000_000+i)
	}
	if err := os.WriteFile(ids, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	names := []string{"residual", "hundred", "product", "opq", "pca", "named"}
	for name, tok := range map[string]string{
		"residual": trained(t, dir, "residual", data, "quantizer.method=kmeans", "quantizer.codes=256", "quantizer.levels=4"),
		"hundred":  trained(t, dir, "hundred", data, "quantizer.method=rq", "quantizer.codes=100", "quantizer.levels=3"),
		"product":  trained(t, dir, "product", data, "quantizer.method=pq", "quantizer.codes=16", "quantizer.levels=1", "quantizer.parts=8"),
		"opq":      trained(t, dir, "opq", data, "quantizer.method=opq", "quantizer.codes=16", "quantizer.levels=1", "quantizer.parts=4"),
		"pca":      changed(t, linear, filepath.Join(dir, "pca"), principal),
		"named":    trained(t, dir, "named", data, "quantizer.method=kmeans", "quantizer.codes=32", "quantizer.levels=2"),
	} {
		of := ""
		if name == "named" {
			of = ids
		}
		r := exported(t, tok, data, filepath.Join(dir, name+".faiss"), of)
		if len(r.Notes) > 0 || r.Rows != rows {
			t.Errorf("%s: the result is %+v", name, r)
		}
		ourAnswers(t, tok, filepath.Join(dir, name), values)
	}
	python.Run(t, dir, faissProgram, names...)
}

// ourAnswers stores the decoded vectors and the neighbours of the first 50 vectors among them.
func ourAnswers(t *testing.T, tok, name string, values []float32) {
	t.Helper()
	o, err := tokenize.Open(tok, "go")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Runtime.Close()
	set, err := vectors.FromSlice("x", values, width)
	if err != nil {
		t.Fatal(err)
	}
	items, _, err := set.Read(sequence(rows))
	if err != nil {
		t.Fatal(err)
	}
	codes, err := o.Runtime.Encode(t.Context(), items, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := o.Runtime.Decode(t.Context(), codes, rows, len(codes)/rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := vectors.Write(name+".decoded.npy", width, decoded.Values); err != nil {
		t.Fatal(err)
	}
	exact, err := index.NewExact(index.Euclidean, decoded.Values, rows, width)
	if err != nil {
		t.Fatal(err)
	}
	found := make([]uint32, 50*10)
	exact.Search(values[:50*width], 50, 10, found, nil, index.SearchOptions{})
	var table [][]uint32
	for i := range 50 {
		table = append(table, found[10*i:10*(i+1)])
	}
	greedy, err := o.Runtime.Encode(t.Context(), items, tokenizer.Options{Beam: 1})
	if err != nil {
		t.Fatal(err)
	}
	if decoded, err = o.Runtime.Decode(t.Context(), greedy, rows, len(greedy)/rows); err != nil {
		t.Fatal(err)
	}
	if err := vectors.Write(name+".greedy.npy", width, decoded.Values); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"found": table, "beam": max(1, o.Bundle.Tokenizer.Spec.Quantizer.Beam)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".found.json", content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sequence(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Encoders that FAISS cannot undo give an index of latents, and the result says so.
func TestIndexOfLatentsSaysSo(t *testing.T) {
	dir := t.TempDir()
	data, _ := someVectors(t, dir)
	for want, sets := range map[string][]string{
		"the index holds latents of 4 dimensions": {"model.dim=4", "model.hidden=[8]"},
		"FAISS searches among the latents":        {"model.dim=4", "model.hidden=[]"},
		"decodes codes to latents":                {"model.standardize=feature"},
		"gritvq decode gives vectors":             {"quantizer.distance=cosine", "quantizer.levels=1"},
	} {
		tok := trained(t, dir, strings.ReplaceAll(want, " ", "-"), data, append([]string{"quantizer.method=ste", "quantizer.codes=8",
			"quantizer.levels=2", "model.hidden=[]", "model.dim=0"}, sets...)...)
		r := exported(t, tok, data, filepath.Join(dir, "i.faiss"), "")
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], want) {
			t.Errorf("the notes are %q, want %q", r.Notes, want)
		}
	}
}

// Codes of a local search are stored as they are, and decode as their sums; what differs from gritvq is said. Leading
// levels alone are refused.
func TestIndexOfLocalSearch(t *testing.T) {
	dir := t.TempDir()
	data, _ := someVectors(t, dir)
	sets := []string{"quantizer.codes=8", "quantizer.levels=2", "quantizer.search=local"}
	additive := trained(t, dir, "lsq", data, append([]string{"quantizer.method=lsq"}, sets...)...)
	refined := trained(t, dir, "refined", data, append([]string{"quantizer.method=grit", "quantizer.start.from=rq", "train.finish=1",
		"model.refine.width=8", "model.dim=0", "model.hidden=[]"}, sets...)...)
	for tok, want := range map[string]string{additive: "store vectors with --data or --codes", refined: "gritvq decode refines them"} {
		output := filepath.Join(dir, "local.faiss")
		r := exported(t, tok, data, output, "")
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], want) || !strings.Contains(r.Notes[0], "found by local search") {
			t.Errorf("the notes are %q, want %q", r.Notes, want)
		}
		x, err := faiss.Read(output)
		if err != nil {
			t.Fatal(err)
		}
		o, err := tokenize.Open(tok, "go")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Runtime.Close()
		set, err := vectors.Open(t.Context(), data, vectors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		items, _, err := set.Read(sequence(rows))
		if err != nil {
			t.Fatal(err)
		}
		own, err := o.Runtime.Encode(t.Context(), items, tokenizer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Rows, own) {
			t.Error("the index stores other codes than those of encode")
		}
		_, err = Run(t.Context(), Options{CodingOptions: tokenize.CodingOptions{Dir: tok, Backend: "go", Levels: 1}, To: "faiss",
			Output: filepath.Join(dir, "one.faiss")}, task.Silent{})
		if err == nil || !strings.Contains(err.Error(), "--levels 1: codes found by local search") {
			t.Errorf("one level of %s: %v", tok, err)
		}
	}
}

// What FAISS cannot represent is refused with a sentence.
func TestFAISSRefuses(t *testing.T) {
	dir := t.TempDir()
	data, _ := someVectors(t, dir)
	for want, sets := range map[string][]string{
		"its codes depend on those of earlier levels; train with --set": {"quantizer.method=grit", "quantizer.transform.levels=affine"},
		"method fsq finds codes in a way of its own":                    {"quantizer.method=fsq", "model.dim=3"},
		"it has parts and levels, and an index has either":              {"quantizer.method=kmeans", "quantizer.parts=2"},
		"its 3 parts of 16 dimensions are not equally wide":             {"quantizer.method=pq", "quantizer.parts=3", "quantizer.levels=1"},
	} {
		tok := trained(t, dir, strings.ReplaceAll(want, " ", "-"), data, append([]string{"quantizer.codes=8", "quantizer.levels=2"}, sets...)...)
		_, err := Run(t.Context(), Options{CodingOptions: tokenize.CodingOptions{Dir: tok, Backend: "go"}, To: "faiss",
			Output: filepath.Join(dir, "i.faiss")}, task.Silent{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "i.faiss")); err == nil {
		t.Error("a refused export left a file")
	}
}

// Codes of a file become those of the index; codes and IDs that do not fit are refused.
func TestFAISSFromFileOfCodes(t *testing.T) {
	dir := t.TempDir()
	data, _ := someVectors(t, dir)
	tok := trained(t, dir, "tok", data, "quantizer.method=kmeans", "quantizer.codes=8", "quantizer.levels=2")
	encode := func(name string, levels int) string {
		path := filepath.Join(dir, name)
		o := tokenize.EncodeOptions{CodingOptions: tokenize.CodingOptions{Dir: tok, Input: data, Backend: "go", Levels: levels}, Output: path}
		if _, err := tokenize.Encode(t.Context(), o, task.Silent{}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	codes, one := encode("codes.gvq", 0), encode("one.npy", 1)
	short := filepath.Join(dir, "short.txt")
	if err := os.WriteFile(short, []byte("1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(dir, "i.faiss")
	run := func(o Options) error {
		o.CodingOptions.Dir, o.CodingOptions.Backend, o.To, o.Output = tok, "go", "faiss", output
		_, err := Run(t.Context(), o, task.Silent{})
		return err
	}
	if err := run(Options{Codes: codes}); err != nil {
		t.Fatal(err)
	}
	first, err := faiss.Read(output)
	if err != nil {
		t.Fatal(err)
	}
	exported(t, tok, data, output, "")
	second, err := faiss.Read(output)
	if err != nil || first.Len() != rows || fmt.Sprint(first.Rows) != fmt.Sprint(second.Rows) {
		t.Errorf("%d codes of the file are not those of the vectors, %v", len(first.Rows), err)
	}
	for want, o := range map[string]Options{
		"has 1 codes a row, the index 2":               {Codes: one},
		"short.txt has 2 IDs for 1500 vectors":         {Codes: codes, IDs: short},
		"--ids needs the vectors that it names":        {IDs: short},
		"--data and --codes exclude each other":        {Codes: codes, CodingOptions: tokenize.CodingOptions{Input: data}},
		"is an input and would be overwritten; choose": {Codes: output},
	} {
		if err := run(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

const trainedByFAISS = `
import faiss, json
import numpy as np
x = np.load("x.npy")
index = faiss.index_factory(16, "PCA16,RQ3x5")
index.train(x)
index.add(x)
faiss.write_index(index, "own.faiss")
codes = faiss.vector_to_array(faiss.downcast_index(index.index).codes).reshape(len(x), 2).astype("u4")
word = codes[:, 0] | codes[:, 1] << 8
json.dump({"codes": np.stack([word & 31, word >> 5 & 31, word >> 10], 1).ravel().tolist(),
           "decoded": index.reconstruct_n(0, len(x)).ravel().tolist()}, open("own.json", "w"))
`

// A tokenizer that starts from an index that FAISS trained decodes its codes as FAISS does.
func TestInteropStartFromFAISS(t *testing.T) {
	python, dir := interop.Find(t, "faiss", "numpy"), t.TempDir()
	data, _ := someVectors(t, dir)
	python.Run(t, dir, trainedByFAISS)
	content, err := os.ReadFile(filepath.Join(dir, "own.json"))
	if err != nil {
		t.Fatal(err)
	}
	var own struct {
		Codes   []uint32  `json:"codes"`
		Decoded []float32 `json:"decoded"`
	}
	if err := json.Unmarshal(content, &own); err != nil {
		t.Fatal(err)
	}
	source := "faiss:" + filepath.Join(dir, "own.faiss")
	defaults, err := tokenize.InitDefaults(source)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tokenize.Settings{Preset: "default", Defaults: defaults, Sets: []string{"quantizer.method=ste", "train.choose=[]",
		"train.steps=1", "train.batch=16", "train.optimizer.rate=1e-12"}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	o := tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: data}, Output: filepath.Join(dir, "tok"), Backend: "go", Init: source}
	if _, err := tokenize.Train(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	opened, err := tokenize.Open(o.Output, "go")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Runtime.Close()
	got, err := opened.Runtime.Decode(t.Context(), own.Codes, rows, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range own.Decoded {
		if d := got.Values[i] - x; d > 1e-4 || d < -1e-4 {
			t.Fatalf("number %d decodes to %g, with FAISS to %g", i, got.Values[i], x)
		}
	}
}
