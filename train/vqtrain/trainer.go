package vqtrain

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

const (
	averagePrefix    = "average"           // averaged copies of trained parameters
	partialPrefix    = "optimizer/partial" // gradients collected over parts of a batch
	perceptualPrefix = "state/perceptual"  // weights of the perceptual network
)

// Observer watches a run. Any field may be nil.
type Observer struct {
	Step  func(r Record)              // after every step; only logged steps carry all fields
	Event func(step int, text string) // resets, skipped steps, safeguards
	// Status says what a run does before its next step, where that takes a
	// while: compiling, placing codes.
	Status func(text string)
}

// ErrInterrupted is returned by Run when its context ended; the checkpoint
// holds the state, and a resumed run continues from it.
var ErrInterrupted = train.ErrInterrupted

// Trainer runs one experiment. Its directory holds checkpoint.safetensors and
// log.jsonl while it runs.
type Trainer struct {
	config  Config
	backend compute.Backend
	model   *tokenizer.Tokenizer
	source  Source
	dir     string
	observe Observer

	bank    *weights.Bank
	sampler *dataset.Sampler
	window  *window
	journal *journal
	state   state

	parameters   []string // trained every step, by the paths they travel under
	deferred     []string // trained once a refresh, when the cache accumulates
	accumulators []string // cached codebooks whose gradient is collected
	averaged     []string // with a shadow copy that follows them

	warm, taken, residuals, books *model.Exec
	refresh, advance              *model.Exec        // of the cache, without and with a step
	runtime                       *tokenizer.Runtime // for evaluations; nil before the first
	best                          weights.Set
}

// state is the host's part of a checkpoint.
type state struct {
	Step       int     `json:"step"`
	Started    bool    `json:"started"`   // codes were placed
	Since      int     `json:"since"`     // step at which the optimizer began
	Resets     int     `json:"resets"`    // codes moved so far
	Skipped    int     `json:"skipped"`   // steps skipped so far
	InARow     int     `json:"in_a_row"`  // skipped without a kept one between
	Smooth     float64 `json:"smooth"`    // running mean of the reconstruction error
	Best       float64 `json:"best"`      // best held-out score
	BestStep   int     `json:"best_step"` // and when
	Stale      int     `json:"stale"`     // evaluations since
	Stopped    bool    `json:"stopped"`   // patience ran out
	LogBytes   int64   `json:"log_bytes"` // length of log.jsonl
	ConfigHash string  `json:"config_hash"`
	DataHash   string  `json:"data_hash"`
}

// New prepares a run in dir. fingerprint identifies the data. With resume, a
// checkpoint in dir is continued if there is one.
func New(backend compute.Backend, config Config, source Source, fingerprint, dir string, resume bool, observe Observer) (*Trainer, error) {
	return newTrainer(backend, config, source, fingerprint, dir, resume, observe, false)
}

// tooFew refuses data from which not every code of a level can start.
func tooFew(tokens int, name string, codes int) error {
	if tokens < 2 { // the fewest codes of a level
		return fmt.Errorf("codes need at least 2 training %s to tell apart, and there is %d; give more data", name, tokens)
	}
	return fmt.Errorf("%d training %s are fewer than the %d codes of a level; use --codes %d or less, or more data", tokens, name, codes, tokens)
}

// newTrainer is New; with packs the network's variables travel together to the
// embedded engine as well.
func newTrainer(backend compute.Backend, config Config, source Source, fingerprint, dir string, resume bool, observe Observer, packs bool) (*Trainer, error) {
	heapguard.Ensure()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	m, err := config.Tokenizer(source.Input())
	if err != nil {
		return nil, err
	}
	if tokens := source.Train.Len() * m.Tokens(); config.Quantizer.Placed() && tokens < config.Quantizer.Codes {
		return nil, tooFew(tokens, source.tokenName(), config.Quantizer.Codes)
	}
	sampler, err := dataset.NewSampler(source.Train, config.Train.Batch, config.Seed)
	if err != nil {
		return nil, err
	}
	t := &Trainer{config: config, backend: backend, model: m, source: source, dir: dir, observe: observe,
		bank: weights.NewBank(), sampler: sampler, window: newWindow(m.Quantizer.Layout(), config.Quantizer.Resets.Window)}
	t.state.Best = math.Inf(1)
	if err := t.identify(fingerprint); err != nil {
		return nil, err
	}
	network := m.InitNetwork(config.Seed, source.Mean, source.Variance)
	if packs || weights.Compiles(backend) {
		t.pack(network)
	}
	restored := false
	if resume {
		if restored, err = t.restore(); err != nil {
			return nil, err
		}
	}
	if !restored {
		if err := t.install(network); err != nil {
			return nil, err
		}
	}
	if err := t.installPerceptual(); err != nil {
		return nil, err
	}
	if t.journal, err = openJournal(filepath.Join(dir, "log.jsonl"), t.state.LogBytes); err != nil {
		return nil, err
	}
	t.listParameters()
	return t, nil
}

// Model is the tokenizer under training.
func (t *Trainer) Model() *tokenizer.Tokenizer { return t.model }

// Step is the number of steps done.
func (t *Trainer) Step() int { return t.state.Step }

// Close releases the log file and the engine's memory. What Run returned stays
// valid.
func (t *Trainer) Close() error {
	t.dropExecutors()
	if t.runtime != nil {
		t.runtime.Close()
	}
	t.bank.Finalize()
	return t.journal.close()
}

// install adds variables with fresh optimizer state and averages.
func (t *Trainer) install(set weights.Set) error {
	trained := weights.Set{}
	for p, a := range set {
		if t.trains(p) {
			trained[p] = a
		}
	}
	all := weights.Set{}.Merge("", set).Merge("", t.config.Train.Optimizer.Init(trained))
	if t.config.Train.Accumulate > 1 {
		for p, a := range trained {
			all[partialPrefix+"/"+p] = weights.New(a.Shape...)
		}
	}
	if t.config.Train.Average > 0 {
		for p, a := range set {
			if weights.GroupOf(p) != weights.State {
				all[averagePrefix+"/"+p] = a.Clone()
			}
		}
	}
	return t.bank.Install(all)
}

// packedPath is where the network's trained variables travel together, to
// engines that are not the embedded one.
const packedPath = "packed"

// pack makes the network's variables travel as one, and those of the perceptual
// network.
func (t *Trainer) pack(network weights.Set) {
	trained := weights.Set{}
	for p, a := range network {
		if weights.GroupOf(p) == weights.Network {
			trained[p] = a
		}
	}
	families := []string{averagePrefix, partialPrefix}
	for _, slot := range t.config.Train.Optimizer.Slots() {
		families = append(families, slot.Prefix)
	}
	t.bank.Pack(packedPath, trained, families...)
	if t.config.Train.Perceptual > 0 && t.source.Perceptual != nil {
		t.bank.Pack(perceptualPrefix+"/"+packedPath, weights.Set{}.Merge(perceptualPrefix, t.source.Perceptual.Variables()))
	}
}

// trains says whether a variable is moved by the optimizer.
func (t *Trainer) trains(p string) bool {
	g := weights.GroupOf(p)
	return g != weights.State && !vq.Frozen(t.model.Quantizer, g)
}

// listParameters sorts the store's variables into what is trained when.
func (t *Trainer) listParameters() {
	t.parameters, t.deferred, t.accumulators, t.averaged = nil, nil, nil, nil
	set, _ := t.bank.Read("")
	accumulate := t.config.Quantizer.Cache.Period > 1 && t.config.Quantizer.Cache.Gradient == "accumulate"
	for _, p := range set.Paths() {
		carrier := t.bank.Carrier(p)
		if _, ok := set[averagePrefix+"/"+p]; ok && (t.trains(p) || t.config.Quantizer.Learn == "ema") && !slices.Contains(t.averaged, carrier) {
			t.averaged = append(t.averaged, carrier)
		}
		switch {
		case hasPrefix(p, "optimizer") || hasPrefix(p, averagePrefix):
		case accumulate && path.Base(p) == "cache":
			t.accumulators = append(t.accumulators, p)
		case !t.trains(p):
		case accumulate && weights.GroupOf(p) != weights.Network && weights.GroupOf(p) != weights.Radius:
			t.deferred = append(t.deferred, p)
		case !slices.Contains(t.parameters, carrier):
			t.parameters = append(t.parameters, carrier)
		}
	}
	t.dropExecutors()
}

func hasPrefix(p, prefix string) bool {
	return len(p) > len(prefix) && p[:len(prefix)] == prefix && p[len(prefix)] == '/'
}

// dropExecutors releases the compiled graphs: they are built anew for the
// variables there are when next needed.
func (t *Trainer) dropExecutors() {
	for _, exec := range []**model.Exec{&t.warm, &t.taken, &t.refresh, &t.advance, &t.residuals, &t.books} {
		if *exec != nil {
			(*exec).Finalize()
			*exec = nil
		}
	}
}
