package picture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChooseNetworks(t *testing.T) {
	for _, c := range []struct{ names, perceptual, features string }{
		{"", "", ""},
		{"notes.txt", "", ""},
		{"lpips_squeeze_v0.1.safetensors mobilenetv2.safetensors", "lpips_squeeze_v0.1.safetensors", "mobilenetv2.safetensors"},
		{"LPIPS-a.safetensors a.onnx inception.onnx lpips-b.safetensors", "LPIPS-a.safetensors", "a.onnx"},
		{"a.onnx clip.safetensors dino.safetensors", "", "clip.safetensors"},
		{"a.onnx clip.safetensors mobilenetv2.safetensors z.safetensors", "", "mobilenetv2.safetensors"},
		{"lpips.onnx lpips.pth", "", "lpips.onnx"},
	} {
		perceptual, features := chooseNetworks(strings.Fields(c.names))
		if perceptual != c.perceptual || features != c.features {
			t.Errorf("%q: %q and %q, want %q and %q", c.names, perceptual, features, c.perceptual, c.features)
		}
	}
}

// What is absent is skipped with a sentence that says how to get it.
func TestSkippedNetworks(t *testing.T) {
	n, err := FindNetworks("")
	if err != nil || n.LPIPS != nil || n.Features != nil {
		t.Fatalf("%+v (%v)", n, err)
	}
	skipped := n.Skipped()
	if len(skipped) != 1 || !strings.Contains(skipped[0], "--metrics") || !strings.Contains(skipped[0], "GRITVQ_METRICS") {
		t.Errorf("%q", skipped)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("none yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err = FindNetworks(dir); err != nil || n.LPIPS != nil || n.Features != nil {
		t.Fatalf("%+v (%v)", n, err)
	}
	skipped = n.Skipped()
	if len(skipped) != 2 || !strings.HasPrefix(skipped[0], "LPIPS is skipped: there is no lpips*.safetensors in "+dir) ||
		!strings.Contains(skipped[1], "mobilenetv2.safetensors") {
		t.Errorf("%q", skipped)
	}
}

func TestDamagedNetworksAreErrors(t *testing.T) {
	if _, err := FindNetworks(filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "check --metrics") {
		t.Errorf("missing directory: %v", err)
	}
	for name, want := range map[string]string{
		"lpips_vgg.safetensors": "loading LPIPS: ", "mobilenetv2.safetensors": "loading the network of features: ",
		"a.onnx": "loading the network of features: ",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a network"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := FindNetworks(dir); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// metrics returns the published networks of $GRITVQ_DATA.
func metrics(tb testing.TB) Networks {
	tb.Helper()
	root := os.Getenv("GRITVQ_DATA")
	if root == "" {
		tb.Skip("set GRITVQ_DATA to a directory with metrics/, the published networks")
	}
	dir := filepath.Join(root, "metrics")
	if _, err := os.Stat(dir); err != nil {
		tb.Skip("GRITVQ_DATA has no metrics/")
	}
	n, err := FindNetworks(dir)
	if err != nil {
		tb.Fatal(err)
	}
	if skipped := n.Skipped(); len(skipped) > 0 {
		tb.Skip(skipped[0])
	}
	return n
}
