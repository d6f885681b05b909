package onnx

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// fixture is the record of a network by testdata/export.py.
type fixture struct {
	Height, Width  int
	Answer, Pooled []float64
}

func fixtures(tb testing.TB) map[string]fixture {
	tb.Helper()
	content, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all map[string]fixture
	if err := json.Unmarshal(content, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// pictures rebuilds the input of testdata/export.py, channels last.
func pictures(height, width int) gradtest.Value {
	hash := func(i uint32) uint32 {
		i = (i>>16 ^ i) * 0x45d9f3b
		i = (i>>16 ^ i) * 0x45d9f3b
		return i>>16 ^ i
	}
	v := gradtest.Value{Shape: []int{2, height, width, 3}}
	for b := range 2 {
		for y := range height {
			for x := range width {
				for c := range 3 {
					i := ((b*3+c)*height+y)*width + x
					v.Data = append(v.Data, float64(int(hash(uint32(i))%2049)-1024)/1024)
				}
			}
		}
	}
	return v
}

// inputs joins the variables of a network with its pictures.
func inputs(m *Model, x gradtest.Value) gradtest.Inputs {
	in := gradtest.Inputs{"x": x}
	for p, a := range m.Variables() {
		v := gradtest.Value{Shape: a.Shape}
		for _, value := range a.Data {
			v.Data = append(v.Data, float64(value))
		}
		in[p] = v
	}
	return in
}

func run(t *testing.T, m *Model, x gradtest.Value) []float64 {
	t.Helper()
	return gradtest.Eval[float32](t, inputs(m, x), func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{m.Build(weights.FromNodes(nodes), nodes["x"])}
	})[0]
}

// Three networks exported by PyTorch, against PyTorch's results.
func TestNetworksEqualPyTorch(t *testing.T) {
	for name, want := range fixtures(t) {
		x := pictures(want.Height, want.Width)
		m, err := Read("testdata/"+name+".onnx", "answer")
		if err != nil {
			t.Fatal(err)
		}
		gradtest.Close(t, name, run(t, m, x), want.Answer, 1e-5)
		if want.Pooled == nil {
			continue
		}
		if m, err = Read("testdata/"+name+".onnx", ""); err != nil {
			t.Fatal(err)
		}
		gradtest.Close(t, name+", pooled", run(t, m, x), want.Pooled, 1e-5)
	}
}

// A tensor that still has the picture's axes is averaged over them.
func TestNamedPictureIsPooled(t *testing.T) {
	m, err := Read("testdata/residual.onnx", "")
	if err != nil {
		t.Fatal(err)
	}
	before := m.nodes[len(m.nodes)-1].inputs[0] // of the last pool
	named, err := Read("testdata/residual.onnx", before)
	if err != nil {
		t.Fatal(err)
	}
	want := fixtures(t)["residual"]
	gradtest.Close(t, "pooled", run(t, named, pictures(want.Height, want.Width)), want.Pooled, 1e-5)
	if batch, channels, height, width := m.InputShape(); batch != 0 || channels != 3 || height != 31 || width != 26 {
		t.Errorf("input shape %d, %d, %d, %d", batch, channels, height, width)
	}
}

func TestWhatIsNotANetworkIsRefused(t *testing.T) {
	content, err := os.ReadFile("testdata/residual.onnx")
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) []byte {
		return []byte(strings.ReplaceAll(string(content), old, new))
	}
	for _, c := range []struct {
		content []byte
		output  string
		want    string
	}{
		{nil, "", "no graph"},
		{[]byte("GIF89a, not a network"), "", "not a valid ONNX file"},
		{content[:len(content)/2], "", "truncated"},
		{content, "nowhere", `no node writes the tensor "nowhere"`},
		{content, "pictures", "does not depend"},
		{replaced("LeakyRelu", "LeakyRely"), "", "(LeakyRely): this operator is not supported"},
	} {
		_, err := Decode(c.content, c.output)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
	if _, err := Read("testdata/absent.onnx", ""); err == nil || !strings.Contains(err.Error(), "absent.onnx") {
		t.Errorf("got %v", err)
	}
}

func TestPicturesOfAnotherSizeAreRefused(t *testing.T) {
	m, err := Read("testdata/residual.onnx", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "31 x 26 with 3 channels") {
			t.Errorf("got %v", err)
		}
	}()
	backend := gradtest.Engine(t)
	g := graph.NewGraph(backend, "size")
	m.Build(weights.Vars{}, graph.Zeros(g, graph.Const(g, [][][][]float32{{{{0, 0, 0}}}}).Shape()))
}
