package onnx

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// job is what the Python program needs to know of a sample.
type job struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"` // of the items
	Kind  string `json:"kind"`  // type of the items
	Codes []int  `json:"codes"` // shape
}

const program = `
import json, os
import numpy as np, onnx, onnxruntime
onnxruntime.set_default_logger_severity(3)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
for job in json.load(open("jobs.json")):
    at = lambda name: os.path.join(job["name"], name)
    for name in "encoder", "decoder", "tokenizer":
        model = onnx.load(at(name + ".onnx"))
        onnx.checker.check_model(model, full_check=True)
        assert model.ir_version == 8 and model.opset_import[0].version == 17
    run = lambda name, **inputs: dict(zip(*(lambda s: ([o.name for o in s.get_outputs()], s.run(None, inputs)))(
        onnxruntime.InferenceSession(at(name + ".onnx"), options))))
    items = np.fromfile(at("items"), job["kind"]).reshape(job["shape"])
    codes = np.fromfile(at("codes"), "<u4").reshape(job["codes"]).astype("i8")
    source = "pictures" if job["kind"] == "u1" else "vectors"
    encoded, decoded = run("encoder", **{source: items}), run("decoder", codes=codes)
    both = run("tokenizer", **{source: items})
    assert (both["codes"] == encoded["codes"]).all(), job["name"]
    again = run("decoder", codes=encoded["codes"])["decoded"]
    assert abs(both["decoded"].astype("f8") - again).max() <= (1 if source == "pictures" else 1e-4), job["name"]
    one = run("encoder", **{source: items[:1]})["codes"]
    assert (one == encoded["codes"][:1]).all(), job["name"] + ": codes depend on the batch"
    encoded["codes"].astype("<u4").tofile(at("codes.onnx"))
    encoded["latents"].astype("<f4").tofile(at("latents.onnx"))
    decoded["decoded"].tofile(at("decoded.onnx"))
    decoded.get("values", decoded["decoded"]).astype("<f4").tofile(at("values.onnx"))
`

const webProgram = `
const fs = require("fs"), path = require("path"), ort = require("onnxruntime-web");
ort.env.logLevel = "error";
ort.env.wasm.numThreads = 1;
const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const own = (file) => { const b = fs.readFileSync(file); return b.buffer.slice(b.byteOffset, b.byteOffset + b.length); };
(async () => {
  for (const job of JSON.parse(fs.readFileSync("jobs.json"))) {
    const at = (name) => path.join(job.name, name);
    const run = async (name, inputs) => {
      const session = await ort.InferenceSession.create(new Uint8Array(own(at(name + ".onnx"))), {executionProviders: ["wasm"]});
      const outputs = await session.run(inputs);
      await session.release();
      return outputs;
    };
    const raw = own(at("items")), pictures = job.kind === "u1";
    const items = pictures ? new ort.Tensor("uint8", new Uint8Array(raw), job.shape)
      : new ort.Tensor("float32", new Float32Array(raw), job.shape);
    const codes = new Uint32Array(own(at("codes"))), shape = job.codes.slice();
    shape[shape.length - 1] = codes.length / shape.slice(0, -1).reduce((a, b) => a * b);
    const source = {[pictures ? "pictures" : "vectors"]: items};
    const encoded = await run("encoder", source), both = await run("tokenizer", source);
    const decoded = await run("decoder", {codes: new ort.Tensor("int64", BigInt64Array.from(codes, BigInt), shape)});
    if (encoded.codes.data.some((c, i) => c !== both.codes.data[i])) throw new Error(job.name + ": encoder and tokenizer differ");
    fs.writeFileSync(at("codes.onnx"), bytes(Uint32Array.from(encoded.codes.data, Number)));
    fs.writeFileSync(at("latents.onnx"), bytes(encoded.latents.data));
    fs.writeFileSync(at("decoded.onnx"), bytes(decoded.decoded.data));
    fs.writeFileSync(at("values.onnx"), bytes((decoded.values || decoded.decoded).data));
  }
})().catch((error) => { console.error(error); process.exit(1); });
`

// samples are every method that is exported, with a network and without, and the settings that change a network.
func samples(t *testing.T) []sample {
	var all []sample
	plain := func(*tokenizer.Spec) {}
	vector := func(name, method string, change func(*tokenizer.Spec)) {
		all = append(all, made(t, name, spec(t, method, change), 6, vectorItems(1000)))
	}
	network := func(activation string) func(*tokenizer.Spec) {
		return func(s *tokenizer.Spec) { s.Model.Dim, s.Model.Hidden, s.Model.Activation = 4, []int{8, 5}, activation }
	}
	for _, method := range []string{"grit", "ema", "simvq", "rq"} {
		vector(method, method, plain)
	}
	for _, method := range []string{"grit", "ema", "fsq", "lfq", "simvq"} {
		vector(method+"-network", method, network(map[string]string{"ema": "gelu", "fsq": "silu"}[method]+map[string]string{
			"grit": "relu", "lfq": "relu", "simvq": "relu"}[method]))
	}
	vector("fsq", "fsq", func(s *tokenizer.Spec) { s.Quantizer.Grid = []int{3, 4, 3, 2, 5, 2} })
	vector("pq", "pq", func(s *tokenizer.Spec) { s.Quantizer.Levels, s.Quantizer.Parts = 1, 3 })
	vector("opq", "opq", func(s *tokenizer.Spec) { s.Quantizer.Levels, s.Quantizer.Parts = 1, 2 })
	vector("parts", "ste", func(s *tokenizer.Spec) { s.Quantizer.Parts, s.Model.Standardize = 2, "feature" })
	vector("cosine", "ste", func(s *tokenizer.Spec) { s.Quantizer.Levels, s.Quantizer.Distance = 1, vq.Cosine })
	vector("refined", "grit", func(s *tokenizer.Spec) { s.Model.Refine.Width = 5 })
	vector("affine", "grit", func(s *tokenizer.Spec) { s.Quantizer.Transform.Levels = "affine" })
	vector("implicit", "grit", func(s *tokenizer.Spec) {
		s.Quantizer.Transform.Levels, s.Quantizer.Transform.Blocks, s.Quantizer.Transform.Candidates = "implicit", 2, 4
	})
	vector("qinco", "qinco", func(s *tokenizer.Spec) { s.Quantizer.Parts, s.Quantizer.Transform.Candidates = 2, 3 })
	picture := func(name, method string, size int, change func(*tokenizer.Spec)) {
		s := spec(t, method, func(s *tokenizer.Spec) {
			s.Model.Dim = 4
			s.Model.Image.Size, s.Model.Image.Widths, s.Model.Image.Blocks = size, []int{6, 8, 10}, 1
			s.Quantizer.Levels = 1
			change(s)
		})
		own := made(t, name, s, 3*size*size, pictureItems(4, size))
		all = append(all, own, resized(t, own, size-2*s.Model.Image.Down()))
	}
	context := func(phases, width, levels int) func(*tokenizer.Spec) {
		return func(s *tokenizer.Spec) {
			s.Quantizer.Levels, s.Quantizer.Transform.Context, s.Quantizer.Transform.ContextWidth = levels, phases, width
		}
	}
	for _, method := range []string{"grit", "ema", "fsq", "lfq", "simvq"} {
		picture("pictures-"+method, method, 32, plain)
	}
	picture("pictures-linear", "grit", 48, func(s *tokenizer.Spec) {
		s.Model.Image.Linear, s.Model.Image.Up, s.Quantizer.Levels = true, "nearest", 2
		s.Model.Image.Strides = []int{3, 2}
	})
	picture("pictures-nearest", "ste", 32, func(s *tokenizer.Spec) { s.Model.Image.Up, s.Model.Image.Linear = "nearest", true })
	picture("pictures-rq", "rq", 32, func(s *tokenizer.Spec) { s.Quantizer.Levels = 2 })
	picture("pictures-pq", "pq", 32, func(s *tokenizer.Spec) { s.Quantizer.Parts = 2 })
	picture("pictures-context", "grit", 32, context(2, 6, 1))
	picture("pictures-context-levels", "ema", 32, context(4, 6, 2))
	picture("pictures-phases", "ste", 32, context(2, 0, 1))
	picture("pictures-strides", "ste", 45, func(s *tokenizer.Spec) { s.Model.Image.Strides = []int{5, 3} })
	return all
}

// ONNX Runtime gives the codes of --beam 1, except where two are nearly as good, and the reconstructions.
func TestInteropONNXRuntime(t *testing.T) {
	python, dir := interop.Find(t, "onnx", "onnxruntime", "numpy"), t.TempDir()
	compared(t, samples(t), dir, func() { python.Run(t, dir, program) })
}

// ONNX Runtime for the web, in WebAssembly, gives the same.
func TestInteropONNXRuntimeWeb(t *testing.T) {
	node, dir := interop.FindNode(t, "onnxruntime-web"), t.TempDir()
	compared(t, samples(t), dir, func() { node.Run(t, dir, webProgram) })
}

// compared writes the networks of samples below a directory, runs them, and compares what they give with the program's results.
func compared(t *testing.T, all []sample, dir string, run func()) {
	var jobs []job
	codes := make([][]uint32, len(all))
	for i, s := range all {
		at := filepath.Join(dir, s.name)
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		e, err := New(s.exported, "a test")
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if codes[i], err = s.runtime.Encode(t.Context(), s.items, tokenizer.Options{Beam: 1}); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		j := job{Name: s.name, Shape: []int{s.items.N, 6}, Kind: "<f4", Codes: []int{s.items.N, -1}}
		items := bytesOf(s.items.Values)
		if image := s.bundle.Tokenizer.Spec.Model.Image; image.Size > 0 {
			j.Shape, j.Kind, items = []int{s.items.N, image.Size, image.Size, 3}, "u1", s.items.Pixels
			j.Codes = []int{s.items.N, image.Grid(), image.Grid(), -1}
		}
		jobs = append(jobs, j)
		for name, content := range map[string][]byte{"encoder.onnx": e.Encoder(), "decoder.onnx": e.Decoder(), "tokenizer.onnx": e.Tokenizer(),
			"items": items, "codes": bytesOf(codes[i])} {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	content, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs.json"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	run()
	for i, s := range all {
		compare(t, s, filepath.Join(dir, s.name), codes[i])
	}
}

func bytesOf[T float32 | uint32](values []T) (content []byte) {
	for _, x := range values {
		switch x := any(x).(type) {
		case float32:
			content = binary.LittleEndian.AppendUint32(content, math.Float32bits(x))
		case uint32:
			content = binary.LittleEndian.AppendUint32(content, x)
		}
	}
	return content
}

// read returns the 32-bit words of a file.
func read(t *testing.T, path string) (words []uint32) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(content); at += 4 {
		words = append(words, binary.LittleEndian.Uint32(content[at:]))
	}
	return words
}

func floats(words []uint32) (values []float32) {
	for _, w := range words {
		values = append(values, math.Float32frombits(w))
	}
	return values
}

// compare holds the results of ONNX Runtime against those of the program.
func compare(t *testing.T, s sample, dir string, codes []uint32) {
	m := s.bundle.Tokenizer
	latents, err := s.runtime.Latents(t.Context(), s.items)
	if err != nil {
		t.Fatal(err)
	}
	theirs := floats(read(t, filepath.Join(dir, "latents.onnx")))
	near(t, s.name+": latents", theirs, latents, 2e-5)
	// A row with other codes is nearly tied if latents that differ by 1e-5 have these codes.
	found, positions := read(t, filepath.Join(dir, "codes.onnx")), m.Quantizer.Layout().Positions()
	open := map[int]bool{}
	for row := range len(codes) / positions {
		if !slices.Equal(found[row*positions:(row+1)*positions], codes[row*positions:(row+1)*positions]) {
			open[row] = true
		}
	}
	if len(found) != len(codes) || len(open) > len(codes)/positions/100+1 {
		t.Errorf("%s: %d of %d rows have other codes", s.name, len(open), len(codes)/positions)
	}
	for try := range 20 {
		noise := weights.Normal(weights.Rand(uint64(try), "noise"), 1e-5, len(latents)).Data
		for i := range noise {
			noise[i] = latents[i] * (1 + noise[i])
		}
		if len(open) == 0 {
			break
		}
		other, err := s.runtime.Assign(t.Context(), noise, m.Cells(s.items.N), tokenizer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for row := range open {
			if slices.Equal(found[row*positions:(row+1)*positions], other[row*positions:(row+1)*positions]) {
				delete(open, row)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: %d rows have other codes without being nearly tied", s.name, len(open))
	}
	compareDecoded(t, s, dir, codes)
}

// compareDecoded compares reconstructions, those of pictures also before they are rounded.
func compareDecoded(t *testing.T, s sample, dir string, codes []uint32) {
	m := s.bundle.Tokenizer
	positions := m.Quantizer.Layout().Positions()
	values := floats(read(t, filepath.Join(dir, "values.onnx")))
	want, err := s.runtime.Decode(t.Context(), codes, s.items.N, positions)
	if err != nil {
		t.Fatal(err)
	}
	if want.Pixels == nil {
		near(t, s.name+": decoded", values, want.Values, 1e-4)
		return
	}
	z, err := s.runtime.LookUp(t.Context(), codes, m.Cells(s.items.N), positions)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := graph.CallOnce(backend(t), func(z *graph.Node) *graph.Node {
		v := weights.NewVars(func(path string) *graph.Node {
			a := s.bundle.Weights[path]
			return graph.Const(z.Graph(), tensors.FromFlatDataAndDimensions(a.Data, a.Shape...))
		})
		return m.Decode(v, z)
	}, tensors.FromFlatDataAndDimensions(z, len(z)/m.Dim(), m.Dim()))
	if err != nil {
		t.Fatal(err)
	}
	expected, err := tensors.CopyFlatData[float32](exact)
	if err != nil {
		t.Fatal(err)
	}
	near(t, s.name+": values", values, expected, 255e-4)
	pixels, err := os.ReadFile(filepath.Join(dir, "decoded.onnx"))
	if err != nil || len(pixels) != len(want.Pixels) {
		t.Fatalf("%s: %d pixels, want %d, %v", s.name, len(pixels), len(want.Pixels), err)
	}
	for i, p := range pixels {
		if d := int(p) - int(want.Pixels[i]); d < -1 || d > 1 {
			t.Fatalf("%s: pixel %d is %d, want %d", s.name, i, p, want.Pixels[i])
		}
	}
}

func near(t *testing.T, name string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: number %d is %g, want %g", name, i, got[i], want[i])
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(s *tokenizer.Spec) string{
		"method lsh finds codes in a way": func(*tokenizer.Spec) string { return "lsh" },
		"method lsq finds codes in a way": func(*tokenizer.Spec) string { return "lsq" },
	} {
		s, err := tokenizer.DefaultSpec(change(&tokenizer.Spec{}))
		if err != nil {
			t.Fatal(err)
		}
		s.Quantizer.Codes, s.Quantizer.Transform.Rank = 8, 4
		change(&s)
		m, err := tokenizer.New(s, 6)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(&bundle.Bundle{Tokenizer: m, Weights: weights.Set{}}, "a test"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
