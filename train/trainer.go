package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/padding"
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
	assisting  []string // likewise, for a loss of their own
	averaged   []string // likewise
	programs   map[string]*model.Exec
	journal    *journal
	state      state
	best       weights.Set
	saved      int             // step of the newest checkpoint; -1 before the first
	evaluation time.Duration   // that the last one took; the longest there is before the first
	within     context.Context // the graph of a step is not built after its end
	undone     bool            // the last step is counted, and was stopped in its evaluation
}

// New prepares a run: it restores a checkpoint or starts afresh. It fails if ctx ends while the first variables are made.
func New(ctx context.Context, backend compute.Backend, problem Problem, config Config, o Options) (*Trainer, error) {
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &Trainer{config: config, problem: problem, backend: backend, options: o, begun: time.Now(),
		bank: weights.NewBank(), programs: map[string]*model.Exec{}, saved: -1, within: context.Background(), evaluation: math.MaxInt64}
	t.state = state{Identity: problem.Identity, Data: o.Data, Best: math.Inf(-1)}
	if err := t.prepare(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Trainer) prepare(ctx context.Context) (err error) {
	defer memory.Catch(&err)
	first, err := t.problem.Init(ctx)
	if err != nil {
		return err
	}
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
	switch {
	case err != nil || !t.options.Resume:
	case restored:
		t.Status(fmt.Sprintf("continuing after step %d of %d", t.state.Step, t.config.Steps))
	default:
		t.Status(fmt.Sprintf("there is no checkpoint: starting with step 1 of %d", t.config.Steps))
	}
	if err == nil {
		err = t.bank.Install(t.problem.Constants)
	}
	if err == nil && t.options.Dir != "" {
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

// Seconds is the time spent so far, that of earlier sessions included.
func (t *Trainer) Seconds() float64 { return t.before + time.Since(t.begun).Seconds() }

func (t *Trainer) dropPrograms() {
	for _, exec := range t.programs {
		exec.Finalize()
	}
	clear(t.programs)
}
