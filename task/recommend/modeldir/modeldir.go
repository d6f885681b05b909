// Package modeldir keeps trained recommenders and search engines on disk: a
// network's weights and settings beside the table of IDs that it was trained on,
// in a directory that is whole or refused.
package modeldir

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
	"slices"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/weights"
)

// The files of a directory. The manifest is written last: a directory without
// one is unfinished.
const (
	ManifestFile = "manifest.json"
	ModelFile    = "model.safetensors"
	ConfigFile   = "config.yaml"
	IDsDir       = "ids" // the table of IDs it was trained on
)

// Schema counts the ways in which variables are read. Until 1 the vectors of
// tokens were stored at their own size (see nn.Embedding).
const Schema = 2

// Manifest describes what a directory holds.
type Manifest struct {
	Schema     int                  `json:"schema"`
	Kind       string               `json:"kind"`
	CreatedBy  string               `json:"created_by"`
	Created    time.Time            `json:"created"`
	Command    string               `json:"command,omitempty"`
	Data       string               `json:"data"` // name of the log or of the queries
	DataHash   string               `json:"data_fingerprint,omitempty"`
	Users      int                  `json:"users,omitempty"`
	Queries    int                  `json:"queries,omitempty"`
	Items      int                  `json:"items"`
	Vocab      []int                `json:"vocab"` // of the positions of an ID
	Steps      int                  `json:"steps"`
	Seconds    float64              `json:"seconds"`
	Validation []eval.RankingScores `json:"validation,omitempty"`
	SHA256     string               `json:"model_sha256"`
}

// Content is what a directory holds beside its manifest.
type Content struct {
	Config  any // a pointer to a struct of settings
	Weights weights.Set
	Table   *catalogue.Table
}

// Purpose names what a directory is for, in errors.
type Purpose struct {
	Name string // such as "recommender"
	Make string // the command that makes one, but for the directory
}

// Save stores content in dir, which must exist, and completes the manifest. What
// was there before is replaced.
func Save(dir string, m *Manifest, c Content) error {
	if err := os.Remove(filepath.Join(dir, ManifestFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace what is in %s: %w", dir, err)
	}
	if err := c.Table.Save(filepath.Join(dir, IDsDir)); err != nil {
		return err
	}
	var list []safetensors.Tensor
	for _, p := range c.Weights.Paths() {
		list = append(list, safetensors.FromFloat32(p, c.Weights[p].Shape, c.Weights[p].Data))
	}
	model := filepath.Join(dir, ModelFile)
	if err := safetensors.Write(model, list, map[string]string{"format": "pt"}); err != nil {
		return err
	}
	rendered, err := config.Render(c.Config)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, ConfigFile), rendered); err != nil {
		return err
	}
	m.Schema, m.Items, m.Vocab = Schema, c.Table.Len(), c.Table.Vocab()
	if m.SHA256, err = checksum(model); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, ManifestFile), append(text, '\n'))
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
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Made says whether dir holds a finished model, of whatever kind and schema.
func Made(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	var m Manifest
	return err == nil && json.Unmarshal(text, &m) == nil && m.Kind != "" && m.SHA256 != "" && m.Vocab != nil
}

// Load reads and verifies the directory dir. settings returns the defaults of a
// kind, a pointer to a struct, or nil if the purpose knows no such kind; the
// returned content has them as they were stored. declared returns the variables
// that a model of these settings has.
func Load(dir string, purpose Purpose, settings func(kind string) any, declared func(Manifest, any) (weights.Set, error)) (Manifest, Content, error) {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return m, Content{}, fmt.Errorf("there is no finished %s in %s; make one with: %s %s", purpose.Name, dir, purpose.Make, dir)
	}
	// What else has a manifest says of what kind it is, before its fields are read
	// as those of a model.
	var head struct {
		Kind      string `json:"kind"`
		CreatedBy string `json:"created_by"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return m, Content{}, purpose.damaged(dir, errors.New("its manifest is no JSON object"))
	}
	if head.Kind == "" {
		return m, Content{}, fmt.Errorf("%s holds no %s but something else; make one with: %s DIR", dir, purpose.Name, purpose.Make)
	}
	if settings(head.Kind) == nil {
		return m, Content{}, fmt.Errorf("%s holds a model of kind %q, by %s, which is no %s that this gritvq knows; make one with: %s DIR", dir, head.Kind, head.CreatedBy, purpose.Name, purpose.Make)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, Content{}, purpose.damaged(dir, err)
	}
	if m.Schema > Schema {
		return m, Content{}, fmt.Errorf("%s has schema %d, by %s, which this gritvq cannot read; upgrade gritvq", dir, m.Schema, m.CreatedBy)
	}
	if m.Schema < Schema {
		return m, Content{}, fmt.Errorf("%s has schema %d, by %s, whose variables this gritvq reads differently; train it again: %s %s", dir, m.Schema, m.CreatedBy, purpose.Make, dir)
	}
	c := Content{Config: settings(m.Kind)}
	if err := c.read(dir, m, declared); err != nil {
		return m, Content{}, purpose.damaged(dir, err)
	}
	if c.Table, err = catalogue.Load(filepath.Join(dir, IDsDir)); err != nil {
		return m, Content{}, err
	}
	if !slices.Equal(c.Table.Vocab(), m.Vocab) {
		return m, Content{}, purpose.damaged(dir, fmt.Errorf("its IDs are not those it was trained on, of %d values each", m.Vocab))
	}
	return m, c, nil
}

func (p Purpose) damaged(dir string, err error) error {
	return fmt.Errorf("the %s in %s is damaged: %w; copy it again or train anew", p.Name, dir, err)
}

// read fills in settings and weights.
func (c *Content) read(dir string, m Manifest, declared func(Manifest, any) (weights.Set, error)) error {
	stored, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return err
	}
	if err := config.Decode(stored, c.Config); err != nil {
		return err
	}
	path := filepath.Join(dir, ModelFile)
	sum, err := checksum(path)
	if err != nil {
		return err
	}
	if sum != m.SHA256 {
		return fmt.Errorf("the checksum of %s is not that of the manifest", ModelFile)
	}
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	c.Weights = weights.Set{}
	for _, t := range file.Tensors {
		values, err := t.Float32()
		if err != nil {
			return err
		}
		c.Weights[t.Name] = &weights.Array{Shape: t.Shape, Data: values}
	}
	want, err := declared(m, c.Config)
	if err != nil {
		return err
	}
	return want.Check(c.Weights)
}
