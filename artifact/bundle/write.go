package bundle

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
	"strings"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/weights"
)

// The prefixes of the tensors in the model file.
const (
	weightsPrefix  = "weights/"
	codebookPrefix = "codebook/"
	usagePrefix    = "usage/"
	entropyPrefix  = "entropy/"
)

// Bundle is a trained tokenizer.
type Bundle struct {
	Manifest  Manifest
	Config    vqtrain.Config
	Tokenizer *tokenizer.Tokenizer
	Weights   weights.Set
	Codebooks []*weights.Array // usable codes [K,d'] of every position
	Usage     [][]int64        // [positions][K]: training rows that chose a code
	// Entropy says which codes stand beside which in pictures; nil for vectors.
	Entropy *codes.Model
}

// Write stores b in dir, which must exist. Of the manifest, what follows from
// the rest (schema, kind, layout, config, files) is filled in here. The model
// file depends on weights, codebooks and usage alone, byte for byte. After an
// error dir holds no manifest and therefore no bundle.
func Write(dir string, b *Bundle) error {
	m := &b.Manifest
	m.Schema, m.Kind, m.Input = Schema, kindOf(b.Config), b.Tokenizer.Input
	m.Layout = LayoutOf(b.Tokenizer.Quantizer.Layout())
	if err := b.check(); err != nil {
		return fmt.Errorf("this tokenizer cannot be stored: %w", err)
	}
	var err error
	if m.Config, m.ConfigHash, err = encodeConfig(b.Config); err != nil {
		return err
	}
	rendered, err := config.Render(b.Config)
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	if err := remove(dir, ManifestFile); err != nil {
		return err
	}
	if err := safetensors.Write(filepath.Join(dir, ModelFile), b.tensors(), map[string]string{"format": "pt"}); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, ConfigFile), rendered); err != nil {
		return err
	}
	m.Files = nil
	for _, name := range []string{ModelFile, ConfigFile} {
		f, err := describe(dir, name)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("storing the manifest: %w", err)
	}
	return writeFile(filepath.Join(dir, ManifestFile), append(content, '\n'))
}

// tensors lists what the model file holds.
func (b *Bundle) tensors() []safetensors.Tensor {
	var list []safetensors.Tensor
	for _, p := range b.Weights.Paths() {
		list = append(list, safetensors.FromFloat32(weightsPrefix+p, b.Weights[p].Shape, b.Weights[p].Data))
	}
	for i, book := range b.Codebooks {
		list = append(list, safetensors.FromFloat32(fmt.Sprintf("%s%d", codebookPrefix, i), book.Shape, book.Data))
	}
	for i, counts := range b.Usage {
		list = append(list, safetensors.FromInt64(fmt.Sprintf("%s%d", usagePrefix, i), []int{len(counts)}, counts))
	}
	if b.Entropy != nil {
		for _, t := range b.Entropy.Tensors() {
			t.Name = entropyPrefix + t.Name
			list = append(list, t)
		}
	}
	return list
}

// Clear removes a bundle or an unfinished one from dir: the manifest first,
// then the other files of a bundle and what a killed run left of them. Files
// that are not a bundle's stay.
func Clear(dir string) error {
	for _, name := range []string{ManifestFile, ModelFile, ConfigFile, ReportFile, LogFile} {
		if err := remove(dir, name); err != nil {
			return err
		}
	}
	if err := vqtrain.RemoveCheckpoints(dir); err != nil {
		return err
	}
	return Sweep(dir)
}

// Sweep removes the temporary files that a killed run left in dir.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, err)
	}
	for _, e := range entries {
		for _, name := range []string{ManifestFile, ModelFile, ConfigFile, ReportFile, vqtrain.CheckpointFile} {
			if strings.HasPrefix(e.Name(), "."+name+".") && strings.HasSuffix(e.Name(), ".tmp") {
				if err := remove(dir, e.Name()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// remove deletes a file that may not exist.
func remove(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace the bundle: %w", err)
	}
	return nil
}

func writeFile(path string, content []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// describe measures a file of the bundle.
func describe(dir, name string) (File, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return File{}, fmt.Errorf("cannot read back %s: %w", name, err)
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return File{}, fmt.Errorf("cannot read back %s: %w", name, err)
	}
	return File{Name: name, SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size}, nil
}
