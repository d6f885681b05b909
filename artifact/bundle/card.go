package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"go.yaml.in/yaml/v3"
)

// Files for Hugging Face, which shows them on a model's page.
const (
	// CardFile describes the tokenizer to people. They may edit it: the manifest has no checksum of it.
	CardFile = "README.md"
	// AliasFile has the keys of config.yaml as JSON, and those of the manifest that decoding needs.
	AliasFile = "config.json"
)

// alias is the content of AliasFile.
func (b *Bundle) alias() ([]byte, error) {
	keys := map[string]any{}
	if err := json.Unmarshal(b.Manifest.Config, &keys); err != nil {
		return nil, err
	}
	keys["model_type"], keys["schema"], keys["kind"] = "gritvq", Kind.Schema, b.Manifest.Kind
	keys["input_dim"], keys["layout"] = b.Manifest.Input, b.Manifest.Layout
	content, err := json.MarshalIndent(keys, "", "  ")
	return append(content, '\n'), err
}

// cardHead is the YAML at the head of a model card.
type cardHead struct {
	Library string      `yaml:"library_name"`
	Tags    []string    `yaml:"tags"`
	Metrics []string    `yaml:"metrics"`
	Index   []cardModel `yaml:"model-index"`
}

type cardModel struct {
	Name    string       `yaml:"name"`
	Results []cardResult `yaml:"results"`
}

type cardResult struct {
	Task    cardName     `yaml:"task"`
	Dataset cardName     `yaml:"dataset"`
	Metrics []cardMetric `yaml:"metrics"`
}

type cardName struct {
	Type string `yaml:"type"`
	Name string `yaml:"name"`
}

type cardMetric struct {
	Type  string  `yaml:"type"`
	Name  string  `yaml:"name"`
	Value float64 `yaml:"value"`
}

// scores lists the finite scores of the manifest, those of held-out items if there are any.
func (m *Manifest) scores() (list []cardMetric, of string) {
	held, train := m.Metrics.Results()
	of = "held-out"
	if held == nil {
		held, of = train, "training"
	}
	add := func(kind, name string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			list = append(list, cardMetric{kind, name, value})
		}
	}
	switch s := held.(type) {
	case *tokenizer.Scores:
		add("relative_error", "relative error", s.RelativeError)
		add("mse", "mean squared error", s.MSE)
		add("bits_per_vector", "bits per vector", s.BitsPerVector)
	case *tokenizer.PictureScores:
		add("psnr", "PSNR, dB", s.PSNR)
		add("ssim", "SSIM", s.SSIM)
		add("bits_per_pixel", "bits per pixel", s.BitsPerPixel)
	}
	if held != nil {
		add("utilization", "codes in use", held.Use().Utilization.Mean)
	}
	return list, of
}

// card is the content of CardFile.
func (b *Bundle) card() ([]byte, error) {
	m, spec := &b.Manifest, b.Tokenizer.Spec
	items := string(b.Tokenizer.Modality().Kind())
	title := fmt.Sprintf("%s tokenizer of %s", vq.Title(spec.Quantizer.Method), items)
	metrics, of := m.scores()
	head := cardHead{Library: "gritvq", Tags: []string{"gritvq", "vector-quantization", "tokenizer", items, spec.Quantizer.Method},
		Metrics: []string{}, Index: []cardModel{{Name: title, Results: []cardResult{}}}}
	for _, metric := range metrics {
		head.Metrics = append(head.Metrics, metric.Type)
	}
	if len(metrics) > 0 {
		name := m.Data.Name
		if name == "" {
			name = items
		}
		head.Index[0].Results = []cardResult{{Task: cardName{"vector-quantization", "Vector quantization"},
			Dataset: cardName{items, name}, Metrics: slices.Clone(metrics)}}
	}
	var page bytes.Buffer
	page.WriteString("---\n")
	encoder := yaml.NewEncoder(&page)
	encoder.SetIndent(2)
	if err := encoder.Encode(head); err != nil {
		return nil, err
	}
	fmt.Fprintf(&page, "---\n\n# %s\n\n", title)
	fmt.Fprintf(&page, "Turns %s into codes, a few integers, and back: %s.\n\n", items, spec.Describe(b.Tokenizer.Input))
	if len(metrics) > 0 {
		fmt.Fprintf(&page, "| %s %s | |\n|---|---|\n", of, items)
		for _, metric := range metrics {
			fmt.Fprintf(&page, "| %s | %.4g |\n", metric.Name, metric.Value)
		}
		page.WriteString("\n")
	}
	page.WriteString(b.cardUse(items))
	return page.Bytes(), nil
}

// cardUse says how the tokenizer is used, and where other programs may give other codes.
func (b *Bundle) cardUse(items string) string {
	var use strings.Builder
	data := "vectors.npy"
	if items == "pictures" {
		data = "photos.tar"
	}
	fmt.Fprintf(&use, "```sh\ngritvq encode DIR %s -o codes.npy\ngritvq decode DIR codes.npy -o decoded%s\n```\n\n", data,
		map[bool]string{true: "/", false: ".npy"}[items == "pictures"])
	use.WriteString("`gritvq export DIR --to onnx -o networks` writes networks for ONNX Runtime. Two codes that are nearly\n" +
		"equally near, within about 1e-5 of the squared distance, may be taken one for the other there.\n")
	if items == "vectors" {
		use.WriteString("`gritvq export DIR --to faiss -o index.faiss` writes an index for FAISS, where its codes can be represented.\n")
		if len(b.Tokenizer.Spec.Model.Hidden) > 0 {
			fmt.Fprintf(&use, "The encoder is a network, so an index holds latents of %d dimensions, not vectors.\n", b.Tokenizer.Dim())
		}
	}
	if b.Manifest.Command != "" {
		fmt.Fprintf(&use, "\nMade by %s:\n\n```sh\n%s\n```\n", b.Manifest.CreatedBy, b.Manifest.Command)
	}
	return use.String()
}
