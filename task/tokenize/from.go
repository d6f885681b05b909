package tokenize

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// From is a stored tokenizer that training starts from.
type From struct {
	Dir    string
	Bundle *bundle.Bundle
	Config vqtrain.Config // settings to begin with, for [Settings].Base
}

// OpenFrom loads the tokenizer in dir as a start of training.
func OpenFrom(dir string) (*From, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, err
	}
	c, err := vqtrain.ReadConfig(b.Config)
	if err != nil {
		return nil, fmt.Errorf("the settings of %s: %w", dir, err)
	}
	return &From{Dir: dir, Bundle: b, Config: c.Continued()}, nil
}

// Settings are the layers of a configuration over that of the tokenizer, for data of vectors or pictures.
func (f *From) Settings(s Settings, data string) (Settings, error) {
	if s.Pictures != f.Config.Model.Pictures() {
		kinds := map[bool]string{false: "vectors", true: "pictures"}
		return s, usage.Errorf("%s is a tokenizer of %s, and %s holds %s; give data of its kind", f.Dir, kinds[!s.Pictures], data,
			kinds[s.Pictures])
	}
	s.Base = &f.Config
	return s, nil
}

// parent describes the tokenizer in a manifest; nil of nil.
func (f *From) parent() *bundle.Parent {
	if f == nil {
		return nil
	}
	return &bundle.Parent{Name: filepath.Base(filepath.Clean(f.Dir)), Fingerprint: fmt.Sprintf("sha256:%x", f.Bundle.Manifest.Fingerprint())}
}

// same says whether two paths name one directory.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// startFrom makes the tokenizer of --from, if there is one, the start of training.
func (t *training) startFrom() error {
	t.fingerprint = t.data.Fingerprint
	if t.From != nil {
		if t.Codebook != "" || t.Init != "" {
			return usage.Errorf("--from excludes --init-codebook and --init: the codes are those of %s", t.From.Dir)
		}
		if same(t.From.Dir, t.Output) {
			return usage.Errorf("%s is the tokenizer that training starts from; choose another directory for the result", t.Output)
		}
		b := t.From.Bundle
		if err := CheckDimension(t.data.Set, b.Manifest.Input); err != nil {
			return err
		}
		t.data.From = &vqtrain.Trained{Tokenizer: b.Tokenizer, Weights: b.Weights, Codebooks: b.Codebooks, Usage: b.Usage}
		t.fingerprint += " from " + t.From.parent().Fingerprint
	}
	if err := t.Config.CheckFrom(t.data.From); err != nil {
		return usage.Error{Err: err}
	}
	return nil
}
