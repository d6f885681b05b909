package recommend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/weights"
)

// The files of a stored model, beside its manifest.
const (
	ModelFile  = "model.safetensors"
	ConfigFile = "config.yaml"
	IDsDir     = "ids" // the table of IDs that it was trained on
)

// Manifest describes a stored model.
type Manifest struct {
	artifact.Head
	Data       string               `json:"data"` // name of the log or of the searches
	DataHash   string               `json:"data_fingerprint,omitempty"`
	Users      int                  `json:"users,omitempty"`
	Queries    int                  `json:"queries,omitempty"`
	Items      int                  `json:"items"`
	Vocab      []int                `json:"vocab"` // of the positions of an ID; none without a catalogue
	Steps      int                  `json:"steps"`
	Seconds    float64              `json:"seconds"`
	Protocol   Protocol             `json:"protocol,omitzero"`
	Validation []eval.RankingScores `json:"validation,omitempty"`
	OldSum     string               `json:"model_sha256,omitempty"` // of schema 2
}

// Upgrade makes a list of files from the one checksum of schema 2.
func (m *Manifest) Upgrade() {
	if m.OldSum != "" {
		m.Files, m.OldSum = []artifact.File{{Name: ModelFile, SHA256: m.OldSum, Size: -1}}, ""
	}
}

// Recommender is a trained model with its catalogue: a recommender or a search
// engine.
type Recommender struct {
	Manifest  Manifest
	Config    Config
	Model     Model
	Weights   weights.Set
	Catalogue *catalogue.Catalogue // nil for a model without one; its Items may be none
}

// Save stores the model in dir, which must exist.
func (r *Recommender) Save(dir string) error {
	kind := r.Config.Kind()
	r.Manifest.Kind = kind.Name
	if r.Catalogue != nil {
		r.Manifest.Items, r.Manifest.Vocab = r.Catalogue.Len(), r.Catalogue.Vocab()
	}
	settings, err := config.Render(r.Config)
	if err != nil {
		return err
	}
	model := artifact.Part{Name: ModelFile, Write: func(path string) error {
		if err := r.saveCatalogue(dir); err != nil { // here, while there is no manifest
			return err
		}
		var list []safetensors.Tensor
		for _, p := range r.Weights.Paths() {
			list = append(list, safetensors.FromFloat32(p, r.Weights[p].Shape, r.Weights[p].Data))
		}
		return safetensors.Write(path, list, map[string]string{"format": "pt"})
	}}
	// The configuration comes first: it shows a run that was killed here that what is beside it is its own.
	parts := []artifact.Part{artifact.Bytes(ConfigFile, settings), model}
	if c := r.Catalogue; c != nil && c.Items != nil && c.Items.Len() > 0 {
		parts = append(parts, artifact.Part{Name: catalogue.ItemsFile, Write: func(path string) error {
			return catalogue.WriteItems(filepath.Dir(path), c.Items.Items)
		}})
	}
	return kind.Purpose.stored.Write(dir, &r.Manifest, parts...)
}

func (r *Recommender) saveCatalogue(dir string) error {
	if r.Catalogue == nil {
		return nil
	}
	return r.Catalogue.Save(filepath.Join(dir, IDsDir))
}

// Load reads and verifies the model in dir, with the titles of its items.
func Load(ctx context.Context, dir string, p *Purpose) (*Recommender, error) {
	r := &Recommender{}
	err := p.stored.Read(dir, &r.Manifest)
	if err != nil {
		return nil, err
	}
	if r.Config, err = Default(p, r.Manifest.Kind); err != nil {
		return nil, err
	}
	if old, ok := r.Config.(starting); ok {
		old.Stored()
	}
	if err := r.readConfig(filepath.Join(dir, ConfigFile)); err != nil {
		return nil, p.stored.Damaged(filepath.Join(dir, ConfigFile), err)
	}
	if err := r.readWeights(filepath.Join(dir, ModelFile)); err != nil {
		return nil, p.stored.Damaged(filepath.Join(dir, ModelFile), err)
	}
	if len(r.Manifest.Vocab) == 0 {
		return r, nil
	}
	table, err := catalogue.Load(filepath.Join(dir, IDsDir))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(table.Vocab(), r.Manifest.Vocab) {
		return nil, p.stored.Damaged(dir, fmt.Errorf("its IDs are not those it was trained on, of %d values each", r.Manifest.Vocab))
	}
	if r.Catalogue, err = table.WithItems(ctx, dir); errors.Is(err, fs.ErrNotExist) {
		r.Catalogue, err = &catalogue.Catalogue{Table: table, Items: &interactions.Catalogue{}}, nil
	}
	return r, err
}

func (r *Recommender) readConfig(path string) error {
	stored, err := memory.ReadFile(path)
	if err != nil {
		return err
	}
	if err := config.Decode(stored, r.Config); err != nil {
		return err
	}
	if err := r.Config.Validate(); err != nil {
		return err
	}
	r.Model, err = r.Config.New(Size{r.Manifest.Vocab, r.Manifest.Items})
	return err
}

func (r *Recommender) readWeights(path string) (err error) {
	defer memory.Catch(&err)
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	r.Weights = weights.Set{}
	for _, t := range file.Tensors {
		values, err := t.Float32()
		if err != nil {
			return err
		}
		r.Weights[t.Name] = &weights.Array{Shape: t.Shape, Data: values}
	}
	if learner, ok := r.Model.(Learner); ok {
		return learner.Init(0).Check(learned(r.Weights))
	}
	return nil
}
