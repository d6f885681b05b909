package recommender

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/task/seqrec"
	"github.com/gritvq/gritvq/weights"
)

// The files of a recommender. The manifest is written last: a directory without
// one is unfinished.
const (
	ManifestFile = "manifest.json"
	ModelFile    = "model.safetensors"
	ConfigFile   = "config.yaml"
	IDsDir       = "ids" // the table of IDs it was trained on
)

const schema = 1

// Manifest describes a recommender on disk.
type Manifest struct {
	Schema     int                  `json:"schema"`
	Kind       string               `json:"kind"`
	CreatedBy  string               `json:"created_by"`
	Created    time.Time            `json:"created"`
	Command    string               `json:"command,omitempty"`
	Data       string               `json:"data"` // name of the log
	Users      int                  `json:"users"`
	Items      int                  `json:"items"`
	Vocab      []int                `json:"vocab"` // of the positions of an ID
	Steps      int                  `json:"steps"`
	Seconds    float64              `json:"seconds"`
	Validation []eval.RankingScores `json:"validation,omitempty"`
	SHA256     string               `json:"model_sha256"`
}

// KindGenerative is a model that writes the ID of the next item.
const KindGenerative = "generative"

// Recommender is a trained model with its catalogue.
type Recommender struct {
	Manifest Manifest
	Config   Config
	Model    *seqrec.Model
	Weights  weights.Set
	Table    *semid.Table
}

// Save stores the recommender in dir, which must exist.
func (r *Recommender) Save(dir string) error {
	if err := os.Remove(filepath.Join(dir, ManifestFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace the recommender: %w", err)
	}
	if err := r.Table.Save(filepath.Join(dir, IDsDir), ""); err != nil {
		return err
	}
	var list []safetensors.Tensor
	for _, p := range r.Weights.Paths() {
		list = append(list, safetensors.FromFloat32(p, r.Weights[p].Shape, r.Weights[p].Data))
	}
	model := filepath.Join(dir, ModelFile)
	if err := safetensors.Write(model, list, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	rendered, err := config.Render(r.Config)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, ConfigFile), rendered); err != nil {
		return err
	}
	if r.Manifest.SHA256, err = checksum(model); err != nil {
		return err
	}
	r.Manifest.Schema, r.Manifest.Kind, r.Manifest.Vocab = schema, KindGenerative, r.Model.Vocab()
	content, err := json.MarshalIndent(r.Manifest, "", "  ")
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, ManifestFile), append(content, '\n'))
}

func write(path string, content []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the recommender: %w", err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Load reads and verifies the recommender in dir.
func Load(dir string) (*Recommender, error) {
	content, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, fmt.Errorf("there is no finished recommender in %s; make one with: gritvq recommend train IDS LOG -o %s", dir, dir)
	}
	r := &Recommender{Config: Default()}
	damaged := func(err error) error {
		return fmt.Errorf("the recommender in %s is damaged: %w; copy it again or train anew", dir, err)
	}
	if err := json.Unmarshal(content, &r.Manifest); err != nil {
		return nil, damaged(err)
	}
	if r.Manifest.Schema > schema || r.Manifest.Kind != KindGenerative {
		return nil, fmt.Errorf("%s has schema %d and kind %q, by %s, which this gritvq cannot read; upgrade gritvq", dir, r.Manifest.Schema, r.Manifest.Kind, r.Manifest.CreatedBy)
	}
	settings, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return nil, damaged(err)
	}
	if err := config.Decode(settings, &r.Config); err != nil {
		return nil, damaged(err)
	}
	model := filepath.Join(dir, ModelFile)
	sum, err := checksum(model)
	if err != nil {
		return nil, damaged(err)
	}
	if sum != r.Manifest.SHA256 {
		return nil, damaged(fmt.Errorf("the checksum of %s is not that of the manifest", ModelFile))
	}
	file, err := safetensors.Read(model)
	if err != nil {
		return nil, damaged(err)
	}
	r.Weights = weights.Set{}
	for _, t := range file.Tensors {
		values, err := t.Float32()
		if err != nil {
			return nil, damaged(err)
		}
		r.Weights[t.Name] = &weights.Array{Shape: t.Shape, Data: values}
	}
	if r.Model, err = seqrec.New(r.Config.Model, r.Manifest.Vocab); err != nil {
		return nil, damaged(err)
	}
	if err := r.Model.Init(0).Check(r.Weights); err != nil {
		return nil, damaged(err)
	}
	if r.Table, err = semid.Load(filepath.Join(dir, IDsDir)); err != nil {
		return nil, err
	}
	return r, nil
}
