// Package bundle keeps a trained tokenizer on disk: a directory with the
// weights, the configuration and a manifest that describes them.
//
//	manifest.json      the content of the bundle, with a checksum of every file
//	model.safetensors  "weights/…" variables, "codebook/<position>" usable codes
//	                   [K,d'], "usage/<position>" how often training rows chose
//	                   each code [K], "entropy/…" how codes of pictures follow
//	                   each other
//	config.yaml        the whole configuration, ready for --config
//	config.json        the same as JSON, with the layout of codes
//	README.md          a model card for people
//	log.jsonl          the training log
//	report.html        the training report
//
// While training runs, checkpoint.safetensors lies beside the log, start holds a bundle
// of the classical start, and trials the runs that choose settings.
package bundle

import (
	"encoding/json"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

// The files of a bundle beside its manifest.
const (
	ModelFile  = "model.safetensors"
	ConfigFile = "config.yaml"
	LogFile    = "log.jsonl"
	ReportFile = "report.html"
)

// Directories of an unfinished bundle.
const (
	StartDir  = "start"  // a bundle to use until training ends
	TrialsDir = "trials" // runs that choose settings
	// ChoiceFile is there from the beginning of the trials.
	ChoiceFile = TrialsDir + "/choice.json"
)

// Kind is the stored kind of bundles.
var Kind = artifact.Register(artifact.Kind{
	Names: []string{string(dataset.Vectors), string(dataset.Pictures)},
	Title: "tokenizer", Command: "gritvq train", Usage: "vectors.npy -o", Schema: 1,
	Files: []string{ModelFile, ConfigFile, AliasFile}, Extra: []string{ReportFile, LogFile, CardFile},
	Begun: []string{checkpoint.Newest, LogFile, ModelFile, ChoiceFile},
})

// Manifest describes a bundle.
type Manifest struct {
	artifact.Head
	Input      int             `json:"input_dim"`
	Layout     vq.Layout       `json:"layout"`
	Data       Data            `json:"data"`
	Training   Training        `json:"training"`
	Parent     *Parent         `json:"parent,omitempty"` // the tokenizer that training started from
	Metrics    Metrics         `json:"metrics"`
	ConfigHash string          `json:"config_hash"` // by the version that trained it
	Config     json.RawMessage `json:"config"`      // the keys of config.yaml
}

// Data describes the training data.
type Data struct {
	Name        string `json:"name"` // without its directory
	Fingerprint string `json:"fingerprint"`
	Held        string `json:"held_name,omitempty"` // of the held-out file, if given
	Rows        int    `json:"rows"`
	TrainRows   int    `json:"train_rows"`
	HeldRows    int    `json:"held_rows"`
	Dropped     int    `json:"dropped_rows"` // for NaN or Inf
}

// Parent names the tokenizer that training started from.
type Parent struct {
	Name        string `json:"name"`        // of its directory
	Fingerprint string `json:"fingerprint"` // of its model file
}

// Training describes the run.
type Training struct {
	Steps   int     `json:"steps"`
	Resumed int     `json:"resumed_from"` // step at which the last session began
	Seconds float64 `json:"seconds"`      // of the last session
	Backend string  `json:"backend"`
	// Choice is how settings were chosen; nil if they were all given.
	Choice *tokenizer.Choice `json:"choice,omitempty"`
	// Advice are sentences about a run that stopped early, ended too early or lost against the classical reference.
	Advice []string `json:"advice,omitempty"`
}

// Metrics are the scores at the end of training; a set without rows is nil.
type Metrics struct {
	Held  *tokenizer.Scores `json:"held,omitempty"`
	Train *tokenizer.Scores `json:"train,omitempty"`
	// Pictures has the scores of a tokenizer of pictures instead.
	Pictures *PictureMetrics `json:"pictures,omitempty"`
	// Reference is a classical method on the same held-out items; nil if none was measured.
	Reference *tokenizer.Reference `json:"reference,omitempty"`
}

// PictureMetrics are the scores of a tokenizer of pictures.
type PictureMetrics struct {
	Held  *tokenizer.PictureScores `json:"held,omitempty"`
	Train *tokenizer.PictureScores `json:"train,omitempty"`
}

// Fingerprint identifies the trained tokenizer: the SHA-256 of its model file.
func (m *Manifest) Fingerprint() [32]byte {
	f, _ := m.File(ModelFile)
	sum, _ := f.Sum()
	return sum
}

// NewMetrics takes the results on held-out and on training data; held may be nil.
func NewMetrics(held, train tokenizer.Result) (m Metrics) {
	switch train := train.(type) {
	case *tokenizer.Scores:
		m.Train = train
		m.Held, _ = held.(*tokenizer.Scores)
	case *tokenizer.PictureScores:
		m.Pictures = &PictureMetrics{Train: train}
		m.Pictures.Held, _ = held.(*tokenizer.PictureScores)
	}
	return m
}

// Results are the results on held-out and on training data; either may be nil.
func (m Metrics) Results() (held, train tokenizer.Result) {
	if p := m.Pictures; p != nil {
		return result(p.Held), result(p.Train)
	}
	return result(m.Held), result(m.Train)
}

// result makes a nil pointer a nil interface.
func result[S any, R interface {
	*S
	tokenizer.Result
}](scores R) tokenizer.Result {
	if scores == nil {
		return nil
	}
	return scores
}
