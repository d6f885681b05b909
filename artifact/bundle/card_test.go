package bundle

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/tokenizer"
)

func TestConfigAliasHasTheConfigurationAndTheLayout(t *testing.T) {
	dir, b := written(t)
	content, err := os.ReadFile(filepath.Join(dir, AliasFile))
	if err != nil {
		t.Fatal(err)
	}
	var alias, config map[string]any
	if err := json.Unmarshal(content, &alias); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Manifest.Config, &config); err != nil {
		t.Fatal(err)
	}
	for key, value := range config {
		if !reflect.DeepEqual(alias[key], value) {
			t.Errorf("%s is %v, in config.yaml %v", key, alias[key], value)
		}
	}
	if alias["model_type"] != "gritvq" || alias["input_dim"] != 5.0 || alias["kind"] != "vectors" {
		t.Errorf("the alias is %v", alias)
	}
	if layout, _ := alias["layout"].(map[string]any); layout["levels"] != 2.0 {
		t.Errorf("the layout is %v", alias["layout"])
	}
	if err := os.WriteFile(filepath.Join(dir, AliasFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "config.json is") {
		t.Errorf("a changed alias gave %v", err)
	}
}

// A card may be edited or removed, and bundles without both files open.
func TestCardBelongsToPeople(t *testing.T) {
	dir, b := t.TempDir(), sample(t)
	b.Manifest.Metrics.Pictures = nil
	if err := Write(dir, b); err != nil {
		t.Fatal(err)
	}
	card := filepath.Join(dir, CardFile)
	content, err := os.ReadFile(card)
	if err != nil || !strings.HasPrefix(string(content), "---\nlibrary_name: gritvq\n") {
		t.Fatalf("the card is %q, %v", content, err)
	}
	for _, want := range []string{"| mean squared error | 0.5 |", "an index holds latents of 4 dimensions", "gritvq encode DIR vectors.npy"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the card does not say %q:\n%s", want, content)
		}
	}
	if strings.Contains(string(content), "relative_error") {
		t.Error("the card has a score that is not finite")
	}
	if err := os.WriteFile(card, []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
	if err := os.Remove(card); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
	if _, err := Load("../../testdata/stored/vectors"); err != nil {
		t.Errorf("a bundle of an earlier version: %v", err)
	}
}

const cardProgram = `
import json
from huggingface_hub import ModelCard
card = ModelCard.load("tok/README.md")
d = card.data
print(json.dumps({"library": d.library_name, "tags": d.tags, "name": d.model_name,
                  "scores": {r.metric_type: r.metric_value for r in d.eval_results}, "data": d.eval_results[0].dataset_name}))
`

// Hugging Face's own reader understands the head of the card.
func TestInteropModelCard(t *testing.T) {
	python, dir := interop.Find(t, "huggingface_hub"), t.TempDir()
	b := sample(t)
	b.Manifest.Data.Name = `a "strange": name.npy`
	b.Manifest.Metrics.Pictures = nil
	b.Manifest.Metrics.Held = &tokenizer.Scores{MSE: 0.5, RelativeError: math.NaN(), BitsPerVector: 12, Vectors: 1}
	tok := filepath.Join(dir, "tok")
	if err := os.Mkdir(tok, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(tok, b); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(python.Run(t, dir, cardProgram), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"library": "gritvq", "tags": []any{"gritvq", "vector-quantization", "tokenizer", "vectors", "ste"},
		"name": "STE tokenizer of vectors", "scores": map[string]any{"mse": 0.5, "bits_per_vector": 12.0, "utilization": 0.0},
		"data": `a "strange": name.npy`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the card reads as %v, want %v", got, want)
	}
}
