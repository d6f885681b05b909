package prior

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// The files of a stored prior, beside its manifest.
const (
	ModelFile     = "model.safetensors"
	ReferenceFile = "reference.safetensors" // the classical models of the same codes
	ConfigFile    = "config.yaml"
	ReportFile    = "report.html"
	CodesFile     = "codes.partial" // the codes of an unfinished run
	TokenizerDir  = "tokenizer"     // a copy of the tokenizer that made the codes
)

// Kind is the stored kind of priors.
var Kind = artifact.Register(artifact.Kind{
	Names: []string{"prior"}, Title: "prior", Command: "gritvq prior train", Usage: "tok photos.tar -o", Schema: 1,
	Files: []string{ModelFile, ReferenceFile, ConfigFile}, Extra: []string{ReportFile, train.LogFile, CodesFile},
	Begun: []string{train.CheckpointFile, train.LogFile, CodesFile, ModelFile},
})

// Manifest describes a stored prior.
type Manifest struct {
	artifact.Head
	Layout     gpt.Layout `json:"layout"`
	Height     int        `json:"height"`                     // of the grid of cells
	Width      int        `json:"width"`                      // and its width; rows that are no pictures have height 1
	Pixels     int        `json:"pixels,omitempty"`           // of a picture
	Classes    []string   `json:"class_names,omitempty"`      // of rows
	Tokenizer  string     `json:"tokenizer_sha256,omitempty"` // of its model file; empty if none is known
	Data       Data       `json:"data"`
	Training   Training   `json:"training"`
	Validation *Scores    `json:"validation,omitempty"`
	ConfigHash string     `json:"config_hash"`
}

// Data describes the training data.
type Data struct {
	Name           string `json:"name"` // without its directory
	Fingerprint    string `json:"fingerprint"`
	TrainRows      int    `json:"train_rows"` // mirrored pictures included
	ValidationRows int    `json:"validation_rows"`
}

// Training describes the run.
type Training struct {
	Steps   int     `json:"steps"`
	Seconds float64 `json:"seconds"` // of all sessions
	Backend string  `json:"backend"`
}

// Prior is a trained model of codes.
type Prior struct {
	Manifest  Manifest
	Config    Config
	Model     *gpt.Model
	Weights   weights.Set
	Reference *Reference

	dir string
}

// Save stores the prior in dir, which must exist, with a copy of the tokenizer in the
// directory from; there is none if from is empty.
func (p *Prior) Save(dir, from string) error {
	settings, err := config.Render(p.Config)
	if err == nil {
		p.Manifest.ConfigHash, err = config.Hash(p.Config)
	}
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	p.Manifest.Layout = p.Model.Layout
	model := artifact.Part{Name: ModelFile, Write: func(path string) error {
		if from != "" { // here, while there is no manifest
			if err := copyTokenizer(from, filepath.Join(dir, TokenizerDir)); err != nil {
				return err
			}
		}
		var list []safetensors.Tensor
		for _, v := range p.Weights.Paths() {
			list = append(list, safetensors.FromFloat32(v, p.Weights[v].Shape, p.Weights[v].Data))
		}
		return safetensors.Write(path, list, map[string]string{"format": "pt"})
	}}
	reference := artifact.Part{Name: ReferenceFile, Write: p.Reference.write}
	p.dir = dir
	return Kind.Write(dir, &p.Manifest, model, reference, artifact.Bytes(ConfigFile, settings))
}

// copyTokenizer copies the files of a bundle, the manifest last.
func copyTokenizer(from, to string) error {
	if output.Same(from, to) {
		return nil
	}
	var m bundle.Manifest
	if err := bundle.Kind.Read(from, &m); err != nil {
		return err
	}
	if err := output.MakeDir(to); err != nil {
		return err
	}
	if err := bundle.Kind.Clear(to); err != nil {
		return err
	}
	names := []string{}
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	for _, name := range append(names, artifact.ManifestFile) {
		err := atomicfile.Write(filepath.Join(to, name), func(w io.Writer) error {
			file, err := os.Open(filepath.Join(from, name))
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = io.Copy(w, file)
			return err
		})
		if err != nil {
			return fmt.Errorf("copying the tokenizer: %w", err)
		}
	}
	return nil
}

// Load reads and verifies the prior in dir.
func Load(dir string) (*Prior, error) {
	p := &Prior{Config: Default(true), dir: dir}
	if err := Kind.Read(dir, &p.Manifest); err != nil {
		return nil, err
	}
	for name, read := range map[string]func(path string) error{ConfigFile: p.readConfig, ReferenceFile: p.readReference} {
		if err := read(filepath.Join(dir, name)); err != nil {
			return nil, Kind.Damaged(filepath.Join(dir, name), err)
		}
	}
	if err := p.readWeights(filepath.Join(dir, ModelFile)); err != nil {
		return nil, Kind.Damaged(filepath.Join(dir, ModelFile), err)
	}
	return p, nil
}

func (p *Prior) readConfig(path string) error {
	document, err := memory.ReadFile(path)
	if err != nil {
		return err
	}
	if err := config.Decode(document, &p.Config); err != nil {
		return err
	}
	p.Model, err = gpt.New(p.Config.Model, p.Manifest.Layout)
	return err
}

func (p *Prior) readReference(path string) (err error) {
	p.Reference, err = readReference(path, p.Manifest.Layout.Vocab)
	return err
}

func (p *Prior) readWeights(path string) (err error) {
	defer memory.Catch(&err)
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	p.Weights = weights.Set{}
	for _, t := range file.Tensors {
		values, err := t.Float32()
		if err != nil {
			return err
		}
		p.Weights[t.Name] = &weights.Array{Shape: t.Shape, Data: values}
	}
	return p.Model.Init(0).Check(p.Weights)
}

// Tokenizer loads the tokenizer whose codes the prior models, from its copy.
func (p *Prior) Tokenizer() (*bundle.Bundle, error) {
	if p.Manifest.Tokenizer == "" {
		return nil, fmt.Errorf("the prior %s was trained on codes alone and has no tokenizer; "+
			"train it with the tokenizer that made them: gritvq prior train TOKENIZER --codes CODES", p.dir)
	}
	b, err := bundle.Load(filepath.Join(p.dir, TokenizerDir))
	if err != nil {
		return nil, err
	}
	if sum := b.Manifest.Fingerprint(); hex.EncodeToString(sum[:]) != p.Manifest.Tokenizer {
		return nil, fmt.Errorf("%s is not the tokenizer that the prior was trained with; copy the directory %s again",
			filepath.Join(p.dir, TokenizerDir), p.dir)
	}
	return b, nil
}

// CheckTokenizer refuses a tokenizer, known by its fingerprint, other than the one that
// the prior was trained with. name is what messages call it.
func (p *Prior) CheckTokenizer(fingerprint [32]byte, name string) error {
	if want := p.Manifest.Tokenizer; want != "" && want != hex.EncodeToString(fingerprint[:]) {
		return fmt.Errorf("the prior %s was trained with another tokenizer than %s; use its own, %s, or train a prior for that one",
			p.dir, name, filepath.Join(p.dir, TokenizerDir))
	}
	return nil
}
