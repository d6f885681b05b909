package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
	"go.yaml.in/yaml/v3"
)

// Bundle is a trained tokenizer.
type Bundle struct {
	Manifest Manifest
	// Config is config.yaml: the whole configuration, which includes Tokenizer.Spec.
	Config    []byte
	Tokenizer *tokenizer.Tokenizer
	Weights   weights.Set
	Codebooks []*weights.Array // usable codes [K,d'] of every position
	Usage     [][]int64        // [positions][K]: training rows assigned to a code
	// Entropy predicts codes of pictures from their neighbours; nil for vectors.
	Entropy *codes.Model
}

// SetConfig takes the configuration of the training, a struct of settings.
func (b *Bundle) SetConfig(c any) (err error) {
	if b.Config, err = config.Render(c); err == nil {
		b.Manifest.ConfigHash, err = config.Hash(c)
	}
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	return nil
}

// Write stores b in dir, which must exist, and fills in the manifest's kind, layout, config and files. The model file
// depends on weights, codebooks and usage alone, byte for byte. After an error dir holds no bundle.
func Write(dir string, b *Bundle) error {
	m := &b.Manifest
	m.Kind, m.Input = string(b.Tokenizer.Modality().Kind()), b.Tokenizer.Input
	m.Layout = b.Tokenizer.Quantizer.Layout()
	if err := b.check(); err != nil {
		return fmt.Errorf("this tokenizer cannot be stored: %w", err)
	}
	tree, err := configTree(b.Config)
	if err == nil {
		m.Config, err = json.Marshal(tree)
	}
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	alias, err := b.alias()
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	card, err := b.card()
	if err == nil {
		err = artifact.Bytes(CardFile, card).Write(filepath.Join(dir, CardFile))
	}
	if err != nil {
		return fmt.Errorf("storing the model card: %w", err)
	}
	return Kind.Write(dir, m, artifact.Part{Name: ModelFile, Write: b.writeModel}, artifact.Bytes(ConfigFile, b.Config),
		artifact.Bytes(AliasFile, alias))
}

// Load reads and verifies the bundle in dir: schema, checksums, shapes, finite numbers.
func Load(dir string) (b *Bundle, err error) {
	defer memory.Catch(&err)
	b = &Bundle{}
	if err := Kind.Read(dir, &b.Manifest); err != nil {
		return nil, err
	}
	spec, err := b.Manifest.spec()
	if err == nil {
		b.Config, err = memory.ReadFile(filepath.Join(dir, ConfigFile))
	}
	if err == nil {
		err = compareConfig(b.Manifest.Config, b.Config)
	}
	if err != nil {
		return nil, Kind.Damaged(filepath.Join(dir, artifact.ManifestFile), err)
	}
	if b.Tokenizer, err = tokenizer.New(spec, b.Manifest.Input); err == nil {
		err = b.readModel(filepath.Join(dir, ModelFile))
	}
	if err != nil {
		return nil, Kind.Damaged(dir, err)
	}
	return b, nil
}

// spec reads the tokenizer's description and checks it against the manifest.
func (m *Manifest) spec() (tokenizer.Spec, error) {
	if _, ok := m.File(ModelFile); !ok {
		return tokenizer.Spec{}, fmt.Errorf("it does not list %s", ModelFile)
	}
	spec, err := tokenizer.ReadSpec(m.Config)
	if err != nil {
		return spec, err
	}
	if m.Kind != string(spec.Model.Modality().Kind()) {
		return spec, fmt.Errorf("its kind %q is not that of its config", m.Kind)
	}
	return spec, spec.Model.Validate()
}

// compareConfig checks the manifest's configuration against config.yaml, whose checksum holds.
func compareConfig(object, document []byte) error {
	var want any
	if err := json.Unmarshal(object, &want); err != nil {
		return err
	}
	tree, err := configTree(document)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(tree, want) {
		return fmt.Errorf("its config is not that of %s", ConfigFile)
	}
	return nil
}

// configTree parses a YAML document into the values of [json.Unmarshal].
func configTree(document []byte) (tree any, err error) {
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, err
	}
	object, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	tree = nil
	return tree, json.Unmarshal(object, &tree)
}

// Clear removes a finished or unfinished bundle and its checkpoints from dir. Other files stay.
func Clear(dir string) error {
	if err := Kind.Clear(dir); err != nil {
		return err
	}
	if err := RemoveWork(dir); err != nil {
		return err
	}
	return checkpoint.Remove(dir)
}

// RemoveWork removes the start and the trials of a run from dir. Directories of the same names that no run made stay.
func RemoveWork(dir string) error {
	start := filepath.Join(dir, StartDir)
	if state, err := Kind.State(start); err == nil && state != artifact.Absent {
		if err := Kind.Clear(start); err != nil {
			return err
		}
		_ = os.Remove(start) // only if empty
	}
	trials := filepath.Join(dir, TrialsDir)
	if _, err := os.Stat(filepath.Join(dir, ChoiceFile)); err != nil {
		_ = os.Remove(trials) // only if empty
		return nil
	}
	if err := os.RemoveAll(trials); err != nil {
		return fmt.Errorf("removing the trials of a run: %w", err)
	}
	return nil
}

// Runtime prepares the tokenizer for encoding and decoding on a backend.
func (b *Bundle) Runtime(backend compute.Backend) (*tokenizer.Runtime, error) {
	return tokenizer.NewRuntime(backend, b.Tokenizer, b.Weights, b.Codebooks)
}
