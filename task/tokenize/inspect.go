package tokenize

import (
	"fmt"
	"math"
	"path"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Inspection describes a trained tokenizer.
type Inspection struct {
	Bundle        string            `json:"bundle"`
	Model         string            `json:"model"`
	CreatedBy     string            `json:"created_by"`
	Data          bundle.Data       `json:"data"`
	Parent        *bundle.Parent    `json:"parent,omitempty"` // the tokenizer that training started from
	InputDim      int               `json:"input_dim"`
	Tokens        int               `json:"tokens"` // cells of a picture; 1 for vectors
	Layout        vq.Layout         `json:"layout"`
	BitsPerVector float64           `json:"bits_per_vector"`
	Parameters    ParameterCounts   `json:"parameters"`
	Bytes         int64             `json:"bytes"` // of the model file
	Fingerprint   string            `json:"fingerprint"`
	Levels        []LevelInspection `json:"levels"`
	Metrics       bundle.Metrics    `json:"metrics"`
}

// ParameterCounts are numbers of scalars.
type ParameterCounts struct {
	Network   int `json:"network"`
	Codes     int `json:"codes"`
	Transform int `json:"transform"`
	Total     int `json:"total"`
}

// LevelInspection describes one slot (see [vq.Layout]).
type LevelInspection struct {
	Codes         int      `json:"codes"`
	Utilization   float64  `json:"utilization"`
	Perplexity    float64  `json:"perplexity"`
	EffectiveRank float64  `json:"effective_rank"`
	MinDistance   float64  `json:"min_distance"`
	SpectralNorm  *float64 `json:"spectral_norm"` // of W; null without one
	Usage         []int64  `json:"usage"`
}

// Inspect loads a tokenizer, checks it, and describes it.
func Inspect(dir string) (*Inspection, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, err
	}
	m := b.Manifest
	i := &Inspection{Bundle: dir, Model: b.Tokenizer.Spec.Describe(m.Input), CreatedBy: m.CreatedBy, Data: m.Data, Parent: m.Parent,
		InputDim: m.Input,
		Tokens:   b.Tokenizer.Tokens(), Layout: m.Layout, Metrics: m.Metrics, Fingerprint: fmt.Sprintf("sha256:%x", m.Fingerprint())}
	model, _ := m.File(bundle.ModelFile)
	i.Bytes = model.Size
	for p, a := range b.Weights {
		switch weights.GroupOf(p) {
		case weights.State:
			continue
		case weights.Network, weights.Encoder:
			i.Parameters.Network += len(a.Data)
		case weights.Codes:
			i.Parameters.Codes += len(a.Data)
		default:
			i.Parameters.Transform += len(a.Data)
		}
		i.Parameters.Total += len(a.Data)
	}
	for _, vocab := range m.Layout.Vocab {
		i.BitsPerVector += math.Log2(float64(vocab))
	}
	for slot, book := range b.Codebooks {
		k, d := book.Shape[0], book.Shape[1]
		use := eval.StatsOf(b.Usage[slot])
		level := LevelInspection{Codes: k, Usage: b.Usage[slot], Utilization: use.Utilization, Perplexity: use.Perplexity,
			EffectiveRank: eval.EffectiveRank(book.Data, k, d), MinDistance: eval.MinPairwiseDistance(book.Data, k, d)}
		path := path.Join(vq.Prefix, b.Tokenizer.Quantizer.Layout().Path(slot), vq.FeatureMapPath)
		if w := b.Weights[path]; w != nil {
			norm := eval.SpectralNorm(w.Data, w.Shape[0])
			level.SpectralNorm = &norm
		}
		i.Levels = append(i.Levels, level)
	}
	return i, nil
}
