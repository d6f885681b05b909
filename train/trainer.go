package train

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

const (
	// AveragePrefix begins the paths of averaged copies of variables.
	AveragePrefix = "average/"
	partialPrefix = optim.Prefix + "partial/" // gradients collected over parts of a batch
)

// ErrInterrupted is returned when the context ended; the checkpoint holds the
// state, and a resumed run continues from it.
var ErrInterrupted = errors.New("interrupted")

// Trainer is one run. Its directory holds checkpoint.safetensors and log.jsonl
// while it runs.
type Trainer struct {
	config  Config
	problem Problem
	backend compute.Backend
	options Options
	begun   time.Time
	before  float64 // seconds of earlier sessions

	bank       *weights.Bank
	parameters []string // trained every step, by the paths they travel under
	averaged   []string // likewise
	programs   map[string]*model.Exec
	journal    *journal
	state      state
	best       weights.Set
}

// New prepares a run: it restores a checkpoint or starts afresh.
func New(backend compute.Backend, problem Problem, config Config, o Options) (*Trainer, error) {
	heapguard.Ensure()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &Trainer{config: config, problem: problem, backend: backend, options: o, begun: time.Now(),
		bank: weights.NewBank(), programs: map[string]*model.Exec{}}
	t.state = state{Identity: problem.Identity, Data: o.Data, Best: math.Inf(-1)}
	if err := t.prepare(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Trainer) prepare() (err error) {
	first := t.problem.Init()
	if t.options.Pack || weights.Compiles(t.backend) {
		t.pack(first)
	}
	restored := false
	if t.options.Resume {
		restored, err = t.restore()
	}
	if err == nil && !restored {
		err = t.install(first)
	}
	if err == nil {
		err = t.bank.Install(t.problem.Constants)
	}
	if err == nil {
		t.journal, err = openJournal(filepath.Join(t.options.Dir, LogFile), t.state.LogBytes)
	}
	return err
}

// Close releases the log file and the engine's memory. Results stay valid.
func (t *Trainer) Close() error {
	t.dropPrograms()
	t.bank.Finalize()
	if t.journal == nil {
		return nil
	}
	return t.journal.file.Close()
}

// Step is the number of steps done.
func (t *Trainer) Step() int { return t.state.Step }

// Updates is the number of steps since the optimizer began.
func (t *Trainer) Updates() int { return t.state.Step - t.state.Since }

// Bank holds the run's variables.
func (t *Trainer) Bank() *weights.Bank { return t.bank }

// Status tells the observer of a lengthy activity before the next step.
func (t *Trainer) Status(text string) {
	if t.options.Watch.Status != nil {
		t.options.Watch.Status(text)
	}
}

// Restart begins the optimizer anew with the given variables, which are all that
// the model has from here.
func (t *Trainer) Restart(set weights.Set) error {
	t.state.Since = t.state.Step
	return t.install(set)
}

// install adds variables with fresh optimizer state and averages.
func (t *Trainer) install(set weights.Set) error {
	trained, all := weights.Set{}, weights.Set{}.Merge("", set)
	for p, a := range set {
		role := t.role(p)
		if role == Trained || role == Deferred {
			trained[p] = a
		}
		if role == Trained && t.parts() > 1 {
			all[partialPrefix+p] = weights.New(a.Shape...)
		}
		if role >= Trained && t.config.Average > 0 {
			all[AveragePrefix+p] = a.Clone()
		}
	}
	t.list(set)
	return t.bank.Install(all.Merge("", t.config.Optimizer.Init(trained)))
}

// list finds the model's trained and averaged variables.
// Programs are compiled anew for them when next needed.
func (t *Trainer) list(set weights.Set) {
	t.dropPrograms()
	t.parameters, t.averaged = nil, nil
	for _, p := range set.Paths() {
		carrier, role := t.bank.Carrier(p), t.role(p)
		if training(p) || role < Trained {
			continue
		}
		if role == Trained && !slices.Contains(t.parameters, carrier) {
			t.parameters = append(t.parameters, carrier)
		}
		if t.config.Average > 0 && !slices.Contains(t.averaged, carrier) {
			t.averaged = append(t.averaged, carrier)
		}
	}
}

// training says whether a path is one of optimizer state or averages.
func training(p string) bool {
	return strings.HasPrefix(p, optim.Prefix) || strings.HasPrefix(p, AveragePrefix)
}

// pack makes the trained variables travel together, and the constants.
func (t *Trainer) pack(first weights.Set) {
	trained := weights.Set{}
	for p, a := range first {
		if t.role(p) == Trained {
			trained[p] = a
		}
	}
	families := []string{AveragePrefix, partialPrefix}
	for _, slot := range t.config.Optimizer.Slots() {
		families = append(families, slot.Prefix)
	}
	t.bank.Pack("packed", trained, families...)
	t.bank.Pack("constant", t.problem.Constants)
}

func (t *Trainer) parts() int { return max(1, t.problem.Parts) }

func (t *Trainer) role(path string) Role {
	switch {
	case t.problem.Role != nil:
		return t.problem.Role(path)
	case weights.GroupOf(path) == weights.State:
		return Fixed
	}
	return Trained
}

// Seconds is the time spent so far, that of earlier sessions included.
func (t *Trainer) Seconds() float64 { return t.before + time.Since(t.begun).Seconds() }

// Variables returns the variables to export, without optimizer state and other
// internal ones. With averaged, averages take their place if they are kept.
func (t *Trainer) Variables(averaged bool) (weights.Set, error) {
	all, err := t.bank.Read("")
	if err != nil {
		return nil, err
	}
	set := weights.Set{}
	for p, a := range all {
		if training(p) || t.problem.Constants[p] != nil || t.role(p) == Internal {
			continue
		}
		set[p] = a
		if average := all[AveragePrefix+p]; averaged && average != nil {
			set[p] = average
		}
	}
	return set, nil
}

func (t *Trainer) dropPrograms() {
	for _, exec := range t.programs {
		exec.Finalize()
	}
	clear(t.programs)
}
