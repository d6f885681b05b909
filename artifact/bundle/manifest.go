// Package bundle keeps a trained tokenizer on disk: a directory with the
// weights, the configuration and a manifest that says what they are.
//
//	manifest.json      what the bundle holds, with a checksum of every file
//	model.safetensors  "weights/…" variables, "codebook/<position>" usable codes
//	                   [K,d'], "usage/<position>" how often training rows chose
//	                   each code [K], "entropy/…" which codes stand beside
//	                   which in pictures
//	config.yaml        the whole configuration, ready for --config
//	log.jsonl          the training log
//	report.html        the training report
//
// The manifest is written last and removed first: a directory without one is
// an unfinished bundle. While training runs, checkpoint.safetensors lies beside
// the log.
package bundle

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"go.yaml.in/yaml/v3"
)

// Schema is the version of the manifest this package writes, and the newest it
// reads.
const Schema = 1

// The kinds of tokenizers.
const (
	KindVectors  = "vectors"
	KindPictures = "pictures"
)

// The files of a bundle.
const (
	ManifestFile = "manifest.json"
	ModelFile    = "model.safetensors"
	ConfigFile   = "config.yaml"
	LogFile      = "log.jsonl"
	ReportFile   = "report.html"
)

// Manifest describes a bundle.
type Manifest struct {
	Schema     int             `json:"schema"`
	Kind       string          `json:"kind"`
	CreatedBy  string          `json:"created_by"` // such as "gritvq v0.1.0"
	Created    time.Time       `json:"created"`
	Command    string          `json:"command,omitempty"` // that trained it
	Input      int             `json:"input_dim"`
	Layout     Layout          `json:"layout"`
	Data       Data            `json:"data"`
	Training   Training        `json:"training"`
	Metrics    Metrics         `json:"metrics"`
	ConfigHash string          `json:"config_hash"` // by the version that made it
	Config     json.RawMessage `json:"config"`      // the keys of config.yaml
	Files      []File          `json:"files"`
}

// Layout is the arrangement of the codes of a vector, as in [vq.Layout].
type Layout struct {
	Dim    int   `json:"dim"`
	Parts  int   `json:"parts"`
	Levels int   `json:"levels"`
	Vocab  []int `json:"vocab"`
}

// Data says what the tokenizer was trained on.
type Data struct {
	Name        string `json:"name"` // without its directory
	Fingerprint string `json:"fingerprint"`
	Held        string `json:"held_name,omitempty"` // where a held-out file was given
	Rows        int    `json:"rows"`
	TrainRows   int    `json:"train_rows"`
	HeldRows    int    `json:"held_rows"`
	Dropped     int    `json:"dropped_rows"` // for NaN or Inf
}

// Training says how long it took.
type Training struct {
	Steps   int     `json:"steps"`
	Resumed int     `json:"resumed_from"` // step from which the last session went on
	Seconds float64 `json:"seconds"`      // of the last session
	Backend string  `json:"backend"`
}

// Metrics are the scores at the end of training; a set without rows is nil.
type Metrics struct {
	Held  *tokenizer.Scores `json:"held,omitempty"`
	Train *tokenizer.Scores `json:"train,omitempty"`
	// Pictures holds the scores of a tokenizer of pictures, in place of those.
	Pictures *PictureMetrics `json:"pictures,omitempty"`
}

// PictureMetrics are the scores of a tokenizer of pictures.
type PictureMetrics struct {
	Held  *tokenizer.PictureScores `json:"held,omitempty"`
	Train *tokenizer.PictureScores `json:"train,omitempty"`
}

// File is one file of the bundle.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`
}

// encodeConfig returns a configuration as the JSON object of its YAML keys, and
// its hash.
func encodeConfig(c vqtrain.Config) (object json.RawMessage, hash string, err error) {
	rendered, err := config.Render(c)
	if err != nil {
		return nil, "", fmt.Errorf("storing the configuration: %w", err)
	}
	var tree any
	if err := yaml.Unmarshal(rendered, &tree); err != nil {
		return nil, "", fmt.Errorf("storing the configuration: %w", err)
	}
	if object, err = json.Marshal(tree); err != nil {
		return nil, "", fmt.Errorf("storing the configuration: %w", err)
	}
	hash, err = config.Hash(c)
	return object, hash, err
}

// decodeConfig reads a stored configuration, as YAML or, which is YAML too, as
// JSON. Keys that were added since keep the defaults of the method.
func decodeConfig(object []byte) (vqtrain.Config, error) {
	var method struct {
		Quantizer struct {
			Method string `yaml:"method"`
		} `yaml:"quantizer"`
	}
	if err := yaml.Unmarshal(object, &method); err != nil {
		return vqtrain.Config{}, fmt.Errorf("its config cannot be read: %w", err)
	}
	c, err := vqtrain.Default(method.Quantizer.Method)
	if err != nil {
		return vqtrain.Config{}, err
	}
	if err := config.Decode(object, &c); err != nil {
		return vqtrain.Config{}, err
	}
	return c, c.Validate()
}

// parseManifest reads a manifest and checks what can be checked without the
// other files.
func parseManifest(content []byte) (*Manifest, vqtrain.Config, error) {
	var version struct {
		Schema    *int   `json:"schema"`
		Kind      string `json:"kind"`
		CreatedBy string `json:"created_by"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, vqtrain.Config{}, fmt.Errorf("it is no JSON object: %w", err)
	}
	switch {
	case version.Kind != "" && version.Kind != KindVectors && version.Kind != KindPictures: // whose schemas count something else
		return nil, vqtrain.Config{}, &otherKindError{version.Kind}
	case version.Schema == nil || *version.Schema < 1:
		return nil, vqtrain.Config{}, fmt.Errorf("it states no schema version")
	case *version.Schema > Schema:
		return nil, vqtrain.Config{}, &NewerSchemaError{Schema: *version.Schema, CreatedBy: version.CreatedBy}
	}
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, vqtrain.Config{}, err
	}
	if m.Kind == "" {
		return nil, vqtrain.Config{}, &otherKindError{}
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != 32 || f.Size < 0 || !slices.Contains([]string{ModelFile, ConfigFile}, f.Name) {
			return nil, vqtrain.Config{}, fmt.Errorf("its entry for file %q makes no sense", f.Name)
		}
	}
	if _, ok := m.file(ModelFile); !ok {
		return nil, vqtrain.Config{}, fmt.Errorf("it does not list %s", ModelFile)
	}
	c, err := decodeConfig(m.Config)
	if err != nil {
		return nil, vqtrain.Config{}, err
	}
	if m.Kind != kindOf(c) {
		return nil, vqtrain.Config{}, fmt.Errorf("its kind %q is not that of its config", m.Kind)
	}
	return &m, c, nil
}

// otherKindError reports the manifest of something else than a tokenizer, such
// as a table of IDs.
type otherKindError struct{ kind string }

func (e *otherKindError) Error() string { return fmt.Sprintf("its kind %q is unknown", e.kind) }

// in names what is in dir, and the tokenizer below it if there is one.
func (e *otherKindError) in(dir string) error {
	kind, advice := "of something else", "name a directory that gritvq train made"
	if e.kind != "" {
		kind = fmt.Sprintf("of kind %q", e.kind)
	}
	if below := filepath.Join(dir, "tokenizer"); present(filepath.Join(below, ManifestFile)) {
		advice = "there is one in " + below
	}
	return fmt.Errorf("%s is no tokenizer: its %s is %s; %s", dir, ManifestFile, kind, advice)
}

func present(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func kindOf(c vqtrain.Config) string {
	if c.Model.Pictures() {
		return KindPictures
	}
	return KindVectors
}

// file finds the entry of a file.
func (m *Manifest) file(name string) (File, bool) {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return m.Files[i], true
}

// Fingerprint identifies the trained tokenizer: the SHA-256 of its model file.
func (m *Manifest) Fingerprint() (sum [32]byte) {
	f, _ := m.file(ModelFile)
	if decoded, err := hex.DecodeString(f.SHA256); err == nil {
		copy(sum[:], decoded)
	}
	return sum
}

// LayoutOf copies the quantizer's layout.
func LayoutOf(l vq.Layout) Layout {
	return Layout{Dim: l.Dim, Parts: l.Parts, Levels: l.Levels, Vocab: slices.Clone(l.Vocab)}
}
