package recommend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
)

// Schema is the version of stored models. Schema 2 had no list of files; schema 1
// stored the vectors of tokens at another scale (see nn.Embedding).
const Schema = 3

// Purpose is the task of models. The kinds of a purpose share a command, the form
// of their data and the words of messages.
type Purpose struct {
	questions string // units of progress
	perFlag   string // that names the file of ranks
	stored    *artifact.Kind
}

// The purposes.
var (
	Recommending = newPurpose("users", "--per-user", "recommender", "gritvq recommend train", "IDS LOG -o")
	Searching    = newPurpose("searches", "--per-query", "search engine", "gritvq retrieve train", "IDS QUERIES -o")
)

func newPurpose(questions, perFlag, title, command, usage string) *Purpose {
	return &Purpose{questions, perFlag, artifact.Register(artifact.Kind{
		Title: title, Command: command, Usage: usage, Schema: Schema, Oldest: 2,
		Files: []string{ModelFile, ConfigFile, catalogue.ItemsFile}, Spare: []string{catalogue.ItemsFile},
		Extra: []string{train.LogFile, catalogue.ReportFile},
		Begun: []string{train.CheckpointFile},
	})}
}

// Title names a model of this purpose, such as "recommender".
func (p *Purpose) Title() string { return p.stored.Title }

// Kind is a kind of model.
type Kind struct {
	Name    string
	Purpose *Purpose
	Default func() Config
	Score   string // meaning of an item's score, such as "inner_product"
	Depth   int    // length of the lists of an evaluation unless told
	Index   bool   // finds items in an index, which may be approximate
	Users   bool   // tells users apart by their names
}

// Config holds the settings of a model: a pointer to a struct that package config
// can read and write.
type Config interface {
	// Kind is the kind of model.
	Kind() *Kind
	// Validate reports the first setting that cannot work.
	Validate() error
	// Training returns the settings of the training run, which may be changed; nil
	// for a kind that is not trained by gradients.
	Training() *train.Config
	// Validation says how a model is scored during and after training.
	Validation() Validation
	// New composes the model for a catalogue.
	New(size Size) (Model, error)
}

// Size is what a model needs to know of the catalogue that it is trained on.
type Size struct {
	Vocab []int // codes at each position of an ID
	Items int
}

// sizeOf is the size of a catalogue.
func sizeOf(t *catalogue.Table) Size { return Size{t.Vocab(), t.Len()} }

// starting is a [Config] of models that start from a classical answer.
type starting interface {
	// Start fits the answer, or returns nil without one, and writes to the settings which it is.
	Start(ctx context.Context, d *Dataset) (*Prior, error)
	// Stored sets what files of earlier versions do not name.
	Stored()
}

// Validation says how a model is scored during and after training.
type Validation struct {
	Depth int // length of the lists during training
	Limit int // questions during training, evenly spaced; 0 means all
	Final int // length of the lists after training, for all questions
}

var kinds []*Kind

func init() {
	for _, k := range []*Kind{
		dualKind, generativeKind, popularityKind, itemKNNKind, transitionsKind, easeKind, sasrecKind, searchKind, bm25Kind,
	} {
		Register(k)
	}
}

// Register adds a kind of model. Its name must be new.
func Register(k *Kind) {
	if slices.ContainsFunc(kinds, func(other *Kind) bool { return other.Name == k.Name }) {
		panic("recommend: kind " + k.Name + " is registered twice")
	}
	kinds = append(kinds, k)
	k.Purpose.stored.Names = append(k.Purpose.stored.Names, k.Name)
}

// Kinds lists the names of the kinds of a purpose.
func Kinds(p *Purpose) []string { return slices.Clone(p.stored.Names) }

// Default returns the settings of a kind of model with their defaults.
func Default(p *Purpose, kind string) (Config, error) {
	for _, k := range kinds {
		if k.Purpose == p && k.Name == kind {
			return k.Default(), nil
		}
	}
	return nil, fmt.Errorf("there is no %s %q: use %s", p.Title(), kind, strings.Join(Kinds(p), " or "))
}
