package tokenizer

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// newTokenizer returns a tokenizer with started codes and its variables.
func newTokenizer(t testing.TB, c Config, q vq.Config, input int) (*Tokenizer, weights.Set) {
	t.Helper()
	tok, err := New(Spec{c, q}, input)
	if err != nil {
		t.Fatal(err)
	}
	mean, variance := make([]float64, input), make([]float64, input)
	for i := range mean {
		mean[i], variance[i] = float64(i)/3, 1+float64(i%4)
	}
	set := tok.InitNetwork(3, Sample{Mean: mean, Variance: variance})
	encoder, err := NewRuntime(gradtest.Engine(t), tok, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	z, err := encoder.Latents(t.Context(), dataset.VectorBatch(sampleRows(300, input, 5), 300))
	if err != nil {
		t.Fatal(err)
	}
	codes, err := tok.Quantizer.Init(vq.Latents{Rows: z, N: 300, Dim: tok.Dim()}, weights.Rand(1, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	rng := weights.Rand(2, "away from the start")
	for _, p := range codes.Paths() {
		if weights.GroupOf(p) != weights.State {
			for i := range codes[p].Data {
				codes[p].Data[i] += float32(0.02 * rng.NormFloat64())
			}
		}
	}
	return tok, set.Merge("quantizer", codes)
}

func sampleRows(n, dim int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(i%dim)/3 + float32(rng.NormFloat64())
	}
	return x
}

func quantizer(t testing.TB, method string, parts int) vq.Config {
	t.Helper()
	q, err := vq.Defaults(method)
	if err != nil {
		t.Fatal(err)
	}
	q.Codes, q.Levels, q.Parts, q.Start.From = 20, 3, parts, "data"
	q.Transform.Rank = 4
	return q
}

func runtime(t testing.TB, tok *Tokenizer, set weights.Set) *Runtime {
	t.Helper()
	books, err := Usable(gradtest.Engine(t), tok, set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRuntime(gradtest.Engine(t), tok, set, books)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestStandardization(t *testing.T) {
	mean, variance := []float64{1, 2, 3}, []float64{4, 0, 8}
	for kind, want := range map[string][2][]float32{
		"none":    {{0, 0, 0}, {1, 1, 1}},
		"scale":   {{1, 2, 3}, {2, 2, 2}}, // sqrt of the mean variance
		"feature": {{1, 2, 3}, {2, 1, float32(math.Sqrt(8))}},
	} {
		shift, scale := standardization(kind, mean, variance)
		for i := range mean {
			if shift.Data[i] != want[0][i] || scale.Data[i] != want[1][i] {
				t.Errorf("%s: dimension %d is shifted by %g and scaled by %g, want %g and %g",
					kind, i, shift.Data[i], scale.Data[i], want[0][i], want[1][i])
			}
		}
	}
	_, scale := standardization("scale", mean, []float64{0, 0, 0})
	if scale.Data[0] != 1 {
		t.Errorf("data that does not vary is scaled by %g", scale.Data[0])
	}
	_, scale = standardization("feature", mean, []float64{1e-90, math.Inf(1), 1})
	for i, s := range scale.Data {
		if !(s > 0) || math.IsInf(float64(1/s), 0) {
			t.Errorf("dimension %d is scaled by %g", i, s)
		}
	}
}

// Encoding standardizes and decoding undoes it: without a network and quantizer
// error, decoding latents gives the vectors back.
func TestDecodeUndoesStandardization(t *testing.T) {
	for _, kind := range []string{"none", "scale", "feature"} {
		tok, set := newTokenizer(t, Config{Activation: "relu", Standardize: kind}, quantizer(t, "ste", 1), 6)
		if !tok.Identity() || tok.Dim() != 6 {
			t.Fatalf("identity %v, dimension %d", tok.Identity(), tok.Dim())
		}
		x := sampleRows(10, 6, 8)
		got := onGraph(t, set, x, 10, 6, func(v weights.Vars, x *graph.Node) []*graph.Node {
			return []*graph.Node{tok.Decode(v, tok.Encode(v, x))}
		})[0]
		for i := range x {
			if math.Abs(float64(got[i]-x[i])) > 1e-5 {
				t.Fatalf("%s: element %d is %g, was %g", kind, i, got[i], x[i])
			}
		}
	}
}

// onGraph runs graph code over the variables and vectors x [n,dim].
func onGraph(t testing.TB, set weights.Set, x []float32, n, dim int, fn func(v weights.Vars, x *graph.Node) []*graph.Node) [][]float32 {
	t.Helper()
	store := model.NewStore()
	defer store.Finalize()
	if err := weights.Install(store, set); err != nil {
		t.Fatal(err)
	}
	values, err := model.CallOnceN(gradtest.Engine(t), store, func(_ *model.Scope, x *graph.Node) []*graph.Node {
		return fn(weights.FromStore(store, x.Graph()), x)
	}, tensors.FromFlatDataAndDimensions(x, n, dim))
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float32, len(values))
	for i, v := range values {
		if out[i], err = tensors.CopyFlatData[float32](v); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The training loss is the mean squared error, in standardized units, of the
// decoded quantizer output.
func TestLossIsTheStandardizedError(t *testing.T) {
	c := Config{Dim: 4, Hidden: []int{7}, Activation: "silu", Standardize: "feature"}
	tok, set := newTokenizer(t, c, quantizer(t, "grit", 1), 6)
	const n = 30
	x := sampleRows(n, 6, 9)
	got := onGraph(t, set, x, n, 6, func(v weights.Vars, x *graph.Node) []*graph.Node {
		pass := tok.Pass(&vq.Context{Vars: v, Training: true}, x)
		return []*graph.Node{pass.Error(), tok.Decode(v, pass.Quantized.Hard), tok.Unquantized(v, x).Error(), tok.Decode(v, tok.Encode(v, x))}
	})
	for pair, name := range []string{"quantized", "unquantized"} {
		want := 0.0
		for i, y := range got[2*pair+1] {
			e := float64(y-x[i]) / float64(set["state/scale"].Data[i%6])
			want += e * e / (n * 6)
		}
		if loss := float64(got[2*pair][0]); math.Abs(loss/want-1) > 1e-4 {
			t.Errorf("%s loss %g, want %g", name, loss, want)
		}
	}
}

func TestDecoderMirrorsTheEncoder(t *testing.T) {
	_, set := newTokenizer(t, Config{Dim: 4, Hidden: []int{9, 5}, Activation: "relu", Standardize: "scale"}, quantizer(t, "ste", 1), 6)
	for p, want := range map[string][]int{
		"encoder/layer0/weights": {6, 9}, "encoder/layer1/weights": {9, 5}, "encoder/layer2/weights": {5, 4},
		"decoder/layer0/weights": {4, 5}, "decoder/layer1/weights": {5, 9}, "decoder/layer2/weights": {9, 6},
	} {
		if a := set[p]; a == nil || a.Shape[0] != want[0] || a.Shape[1] != want[1] {
			t.Errorf("%s is %+v, want shape %v", p, a, want)
		}
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	good := Config{Activation: "relu", Standardize: "scale"}
	for want, c := range map[string]Config{
		"model.dim":         {Dim: -1, Activation: "relu", Standardize: "scale"},
		"model.hidden":      {Hidden: []int{4, 0}, Activation: "relu", Standardize: "scale"},
		"model.activation":  {Activation: "sine", Standardize: "scale"},
		"model.standardize": {Activation: "relu", Standardize: "z"},
	} {
		if _, err := New(Spec{c, quantizer(t, "ste", 1)}, 6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := New(Spec{good, quantizer(t, "ste", 1)}, 0); err == nil || !strings.Contains(err.Error(), "dimension") {
		t.Errorf("no dimension: %v", err)
	}
	if _, err := New(Spec{good, quantizer(t, "ste", 9)}, 6); err == nil || !strings.Contains(err.Error(), "quantizer.parts") {
		t.Errorf("too many parts: %v", err)
	}
}
