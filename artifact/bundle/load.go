package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// UnfinishedError reports a directory in which training was started but has not
// ended.
type UnfinishedError struct{ Dir string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("training in %s is unfinished; repeat the train command with --resume", e.Dir)
}

// NewerSchemaError reports a bundle that this version cannot read.
type NewerSchemaError struct {
	Path      string
	Schema    int
	CreatedBy string
}

func (e *NewerSchemaError) Error() string {
	by := e.CreatedBy
	if by == "" {
		by = "a newer gritvq"
	}
	return fmt.Sprintf("%s has schema %d, made by %s, and this gritvq reads up to schema %d; upgrade gritvq", e.Path, e.Schema, by, Schema)
}

// State is what a directory holds.
type State int

// The states of a directory.
const (
	Absent     State = iota // no directory, or no file of a bundle in it
	Unfinished              // training was started
	Finished                // a manifest
)

// StateOf looks at dir without reading the bundle. A path that is there but no
// directory is an error.
func StateOf(dir string) (State, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return Absent, fmt.Errorf("cannot use %s: %w; choose another directory", dir, err)
	}
	if !info.IsDir() {
		return Absent, fmt.Errorf("%s is a file; a bundle is a directory", dir)
	}
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case exists(ManifestFile):
		return Finished, nil
	case exists(vqtrain.CheckpointFile) || exists(LogFile) || exists(ModelFile):
		return Unfinished, nil
	}
	return Absent, nil
}

// Load reads and verifies the bundle in dir: schema, checksums, shapes, finite
// numbers. Errors are one sentence: not a bundle, unfinished
// ([*UnfinishedError]), of a newer schema ([*NewerSchemaError]), or damaged, in
// which file.
func Load(dir string) (*Bundle, error) {
	state, err := StateOf(dir)
	if err != nil {
		return nil, err
	}
	switch state {
	case Unfinished:
		return nil, &UnfinishedError{dir}
	case Absent:
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("there is no bundle %s; make one with: gritvq train vectors.npy -o %s", dir, dir)
		}
		return nil, fmt.Errorf("%s is not a bundle: it has no %s; make one with: gritvq train vectors.npy -o NEW", dir, ManifestFile)
	}
	path := filepath.Join(dir, ManifestFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the bundle: %w", err)
	}
	m, c, err := parseManifest(content)
	if newer, ok := errors.AsType[*NewerSchemaError](err); ok {
		newer.Path = path
		return nil, newer
	}
	if other, ok := errors.AsType[*otherKindError](err); ok {
		return nil, other.in(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; copy the bundle again or train anew", path, err)
	}
	for _, f := range m.Files {
		if err := verify(dir, f); err != nil {
			return nil, err
		}
	}
	if err := compareConfig(filepath.Join(dir, ConfigFile), c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; copy the bundle again or train anew", path, err)
	}
	b := &Bundle{Manifest: *m, Config: c}
	if err := b.readModel(filepath.Join(dir, ModelFile)); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; copy the bundle again or train anew", dir, err)
	}
	return b, nil
}

// compareConfig checks the manifest's configuration against config.yaml, whose
// checksum holds.
func compareConfig(path string, c vqtrain.Config) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	stored, err := decodeConfig(content)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(stored, c) {
		return fmt.Errorf("its config is not that of %s", ConfigFile)
	}
	return nil
}

// verify compares a file with the manifest's entry.
func verify(dir string, want File) error {
	path := filepath.Join(dir, want.Name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing from the bundle; copy the bundle again or train anew", path)
	case err != nil:
		return fmt.Errorf("cannot read the bundle: %w", err)
	case info.Size() < want.Size:
		return fmt.Errorf("%s is truncated: it has %d of %d bytes; copy the bundle again or train anew", path, info.Size(), want.Size)
	}
	got, err := describe(dir, want.Name)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s is damaged: its checksum is not that of the manifest; copy the bundle again or train anew", path)
	}
	return nil
}

// readModel fills the tokenizer and its arrays and checks them.
func (b *Bundle) readModel(path string) (err error) {
	if b.Tokenizer, err = tokenizer.New(b.Config.Model, b.Config.Quantizer, b.Manifest.Input); err != nil {
		return err
	}
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	positions := b.Tokenizer.Quantizer.Layout().Positions()
	b.Weights = weights.Set{}
	b.Codebooks, b.Usage = make([]*weights.Array, positions), make([][]int64, positions)
	var entropy []safetensors.Tensor
	for _, t := range file.Tensors {
		if name, ok := strings.CutPrefix(t.Name, entropyPrefix); ok {
			t.Name = name
			entropy = append(entropy, t)
			continue
		}
		kind, rest, _ := strings.Cut(t.Name, "/")
		position, notNumber := strconv.Atoi(rest)
		if numbered := kind+"/" == codebookPrefix || kind+"/" == usagePrefix; numbered && (notNumber != nil || position < 0 || position >= positions) {
			return fmt.Errorf("%s holds %q, the tokenizer has %d code positions", ModelFile, t.Name, positions)
		}
		if kind+"/" == usagePrefix {
			if b.Usage[position], err = t.Int64(); err != nil {
				return err
			}
			continue
		}
		values, err := t.Float32()
		if err != nil {
			return err
		}
		array := &weights.Array{Shape: t.Shape, Data: values}
		switch kind + "/" {
		case codebookPrefix:
			b.Codebooks[position] = array
		case weightsPrefix:
			b.Weights[rest] = array
		default:
			return fmt.Errorf("%s holds %q, which no bundle of schema %d has", ModelFile, t.Name, Schema)
		}
	}
	if entropy != nil {
		if b.Entropy, err = codes.NewModel(entropy); err != nil {
			return fmt.Errorf("its model of codes: %w", err)
		}
	}
	return b.check()
}

// Runtime prepares the tokenizer for encoding and decoding on a backend.
func (b *Bundle) Runtime(backend compute.Backend) (*tokenizer.Runtime, error) {
	return tokenizer.NewRuntime(backend, b.Tokenizer, b.Weights, b.Codebooks)
}
