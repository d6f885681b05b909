package feature

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// Distances over the three backbones, with weights from a formula, equal those
// that PyTorch computes.
func TestDistancesEqualPyTorch(t *testing.T) {
	for _, b := range []backbone{squeezeNet, alexNet, vgg16} {
		network, err := newLPIPS(fileOf(t, backboneTensors(b)))
		if err != nil {
			t.Fatal(err)
		}
		if network.Name() != b.name {
			t.Errorf("the tensors of %s were taken for %s", b.name, network.Name())
		}
		in := withVariables(gradtest.Inputs{
			"a": asInput(pixels(1, 2, 48, 41), 2, 48, 41, 3),
			"b": asInput(pixels(7919, 2, 48, 41), 2, 48, 41, 3),
		}, network.Variables())
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			v := weights.FromNodes(nodes)
			return []*graph.Node{network.Distance(v, nodes["a"], nodes["b"]), network.Distance(v, nodes["a"], nodes["a"])}
		})
		gradtest.Close(t, b.name, got[0], expected(t, b.name), 1e-5)
		gradtest.Close(t, b.name+" of a picture to itself", got[1], []float64{0, 0}, 0)
	}
}

// A small MobileNetV2 on odd sizes equals PyTorch's.
func TestMobileNetEqualsPyTorch(t *testing.T) {
	network, err := newMobileNet(fileOf(t, mobileTensors()))
	if err != nil {
		t.Fatal(err)
	}
	in := withVariables(gradtest.Inputs{"x": asInput(pixels(1, 2, 50, 33), 2, 50, 33, 3)}, network.Variables())
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{network.Features(weights.FromNodes(nodes), nodes["x"])}
	})
	gradtest.Close(t, "features", got[0], expected(t, "MobileNetV2"), 1e-5)
}

func TestLoadChoosesByTheNamesOfTensors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, tensors []safetensors.Tensor) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := safetensors.Write(path, tensors, nil); err != nil {
			t.Fatal(err)
		}
		return path
	}
	squeeze := backboneTensors(squeezeNet)
	for _, c := range []struct{ path, name string }{
		{write("a.safetensors", squeeze), "SqueezeNet"},
		{write("b.safetensors", mobileTensors()), "MobileNetV2"},
		{"testdata/tiny.onnx", "tiny"},
	} {
		network, err := Load(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if network.Name() != c.name {
			t.Errorf("%s was taken for %s", c.path, network.Name())
		}
	}
	wrong := append([]safetensors.Tensor{}, squeeze...)
	wrong[0] = named("features.0.weight", -1, 1, 64, 3, 5, 5)
	for _, c := range []struct {
		path, want string
	}{
		{write("c.safetensors", []safetensors.Tensor{named("encoder.weight", -1, 1, 2)}), "give other networks as ONNX"},
		{write("d.safetensors", squeeze[:len(squeeze)-1]), `no tensor "lin6.weight"`},
		{write("e.safetensors", wrong), "has shape [64 3 5 5] where the network needs [64 3 3 3]"},
		{write("f.safetensors", mobileTensors()[:50]), "MobileNetV2 has 17 blocks, the file 8"},
		{filepath.Join(dir, "absent.safetensors"), "absent.safetensors"},
		{filepath.Join(dir, "absent.onnx"), "absent.onnx"},
	} {
		if _, err := Load(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

func TestONNXOptions(t *testing.T) {
	for _, c := range []struct {
		path    string
		options ONNXOptions
		want    string
	}{
		{"../onnx/testdata/inception.onnx", ONNXOptions{}, "22 x 18"},
		{"testdata/tiny.onnx", ONNXOptions{Std: [3]float64{1, 1, 0}}, "positive numbers"},
		{"testdata/tiny.onnx", ONNXOptions{Output: "nowhere"}, "nowhere"},
	} {
		if _, err := LoadONNX(c.path, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
	network, err := LoadONNX("testdata/tiny.onnx", ONNXOptions{Size: 16, Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.5, 0.5, 0.5}})
	if err != nil || network.Input() != (Input{Size: 16}) {
		t.Errorf("%+v, %v", network, err)
	}
}
