package fit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// averagePrefix holds the averaged copies of trained parameters.
const averagePrefix = "average"

// Source is what a run learns from and is scored on.
type Source struct {
	Vectors *data.Vectors
	Train   data.Selection
	Held    data.Selection // rows of HeldVectors; may be empty
	// HeldVectors is Vectors unless a held-out file was given.
	HeldVectors    *data.Vectors
	Mean, Variance []float64 // of the vectors, by dimension
}

// Observer watches a run. Any field may be nil.
type Observer struct {
	Step  func(r Record)              // after every step; only logged steps carry all fields
	Event func(step int, text string) // resets, skipped steps, safeguards
}

// ErrInterrupted is returned by Run when its context ended; the checkpoint
// holds the state, and a resumed run continues from it.
var ErrInterrupted = errors.New("interrupted")

// Trainer runs one experiment. Its directory holds checkpoint.safetensors and
// log.jsonl while it runs.
type Trainer struct {
	config  Config
	backend compute.Backend
	model   *tokenizer.Tokenizer
	source  Source
	dir     string
	observe Observer

	store   *model.Store
	sampler *data.Sampler
	window  *window
	journal *journal
	state   state

	parameters   []string // trained every step
	deferred     []string // trained once a refresh, when the cache accumulates
	accumulators []string // cached codebooks whose gradient is collected
	averaged     []string // with a shadow copy that follows them

	warm, train, residuals, books *model.Exec
	refresh, advance              *model.Exec // of the cache, without and with a step
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
	heapguard.Ensure()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	m, err := tokenizer.New(config.Model, config.Quantizer, source.Vectors.Dim())
	if err != nil {
		return nil, err
	}
	if vq.Classical(config.Quantizer.Method) && !m.Identity() {
		return nil, fmt.Errorf("model: %s is fitted to the vectors themselves, without a network; use --hidden none --dim 0", config.Quantizer.Method)
	}
	if source.Train.Len() < config.Quantizer.Codes {
		return nil, fmt.Errorf("%d training rows are fewer than the %d codes of a level; use --codes %d or less, or more data",
			source.Train.Len(), config.Quantizer.Codes, source.Train.Len())
	}
	sampler, err := data.NewSampler(source.Train, config.Train.Batch, config.Seed)
	if err != nil {
		return nil, err
	}
	t := &Trainer{config: config, backend: backend, model: m, source: source, dir: dir, observe: observe,
		store: model.NewStore(), sampler: sampler, window: newWindow(m.Quantizer.Layout(), config.Quantizer.Resets.Window)}
	t.state.Best = math.Inf(1)
	if err := t.identify(fingerprint); err != nil {
		return nil, err
	}
	restored := false
	if resume {
		if restored, err = t.restore(); err != nil {
			return nil, err
		}
	}
	if !restored {
		network := m.InitNetwork(config.Seed, source.Mean, source.Variance)
		if err := t.install(network); err != nil {
			return nil, err
		}
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

// Close releases the log file.
func (t *Trainer) Close() error { return t.journal.close() }

// install adds variables with fresh optimizer state and averages.
func (t *Trainer) install(set weights.Set) error {
	trained := weights.Set{}
	for p, a := range set {
		if t.trains(p) {
			trained[p] = a
		}
	}
	all := weights.Set{}.Merge("", set).Merge("", t.config.Train.Optimizer.init(trained))
	if t.config.Train.Average > 0 {
		for p, a := range set {
			if weights.GroupOf(p) != weights.State {
				all[averagePrefix+"/"+p] = a.Clone()
			}
		}
	}
	return weights.Install(t.store, all)
}

// trains says whether a variable is moved by the optimizer.
func (t *Trainer) trains(p string) bool {
	g := weights.GroupOf(p)
	return g != weights.State && !t.model.Quantizer.Frozen(g)
}

// listParameters sorts the store's variables into what is trained when.
func (t *Trainer) listParameters() {
	t.parameters, t.deferred, t.accumulators, t.averaged = nil, nil, nil, nil
	set, _ := weights.Read(t.store, "")
	accumulate := t.config.Quantizer.Cache.Period > 1 && t.config.Quantizer.Cache.Gradient == "accumulate"
	for _, p := range set.Paths() {
		if _, ok := set[averagePrefix+"/"+p]; ok && (t.trains(p) || t.config.Quantizer.Learn == "ema") {
			t.averaged = append(t.averaged, p)
		}
		switch {
		case hasPrefix(p, "optimizer") || hasPrefix(p, averagePrefix):
		case accumulate && path.Base(p) == "cache":
			t.accumulators = append(t.accumulators, p)
		case !t.trains(p):
		case accumulate && weights.GroupOf(p) != weights.Network && weights.GroupOf(p) != weights.Radius:
			t.deferred = append(t.deferred, p)
		default:
			t.parameters = append(t.parameters, p)
		}
	}
	for _, exec := range []**model.Exec{&t.warm, &t.train, &t.refresh, &t.advance, &t.residuals, &t.books} {
		if *exec != nil {
			(*exec).Finalize()
			*exec = nil
		}
	}
}

func hasPrefix(p, prefix string) bool {
	return len(p) > len(prefix) && p[:len(prefix)] == prefix && p[len(prefix)] == '/'
}

// Run trains to the end (classical methods are fitted at once) and returns the
// variables to export. It stops early with [ErrInterrupted] when ctx ends, after
// saving.
func (t *Trainer) Run(ctx context.Context) (weights.Set, error) {
	if vq.Classical(t.config.Quantizer.Method) {
		return t.fitClassical(ctx)
	}
	steps := t.config.Train.Steps
	feed := data.NewPrefetcher(ctx, t.source.Vectors, t.sampler, int64(t.state.Step), int64(steps), 2)
	defer feed.Close()
	for t.state.Step < steps && !t.state.Stopped {
		if ctx.Err() != nil {
			return nil, t.interrupt()
		}
		batch, err := feed.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, t.interrupt()
			}
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		if err := t.one(ctx, batch.Values); err != nil {
			if ctx.Err() != nil {
				return nil, t.interrupt()
			}
			return nil, err
		}
		if t.state.Step%t.config.Train.Save == 0 {
			if err := t.save(); err != nil {
				return nil, err
			}
		}
	}
	return t.export()
}

// interrupt saves where the run is. A step that was cut short left nothing
// behind: the state is that of the last whole step.
func (t *Trainer) interrupt() error {
	if err := t.save(); err != nil {
		return fmt.Errorf("%w, and the checkpoint could not be saved: %w", ErrInterrupted, err)
	}
	return ErrInterrupted
}

// one takes a step and does what falls due after it.
func (t *Trainer) one(ctx context.Context, batch []float32) error {
	step := t.state.Step
	if !t.state.Started && step >= t.warmup() {
		if err := t.start(ctx); err != nil {
			return err
		}
	}
	x := tensors.FromFlatDataAndDimensions(batch, t.config.Train.Batch, t.source.Vectors.Dim())
	defer x.FinalizeAll()
	if !t.state.Started {
		report, err := t.call(t.warmExec(), x, nil)
		if err != nil {
			return err
		}
		return t.after(ctx, Record{Step: step + 1, Phase: "warm-up", scalars: report}, x)
	}
	if t.cacheDue(step) {
		// The first refresh has nothing collected to step with.
		if err := t.refreshCache(step > t.state.Since && len(t.accumulators) > 0); err != nil {
			return err
		}
	}
	levels := t.activeLevels(step)
	var codes []int32
	mask := t.activeMask(levels)
	defer mask.FinalizeAll()
	noise, err := graph.RNGStateFromSeed(int64(weights.Rand(t.config.Seed, fmt.Sprintf("noise %d", step)).Uint64() >> 1))
	if err != nil {
		return err
	}
	defer noise.FinalizeAll()
	report, err := t.call(t.trainExec(), x, &codes, mask, noise)
	if err != nil {
		return err
	}
	r := Record{Step: step + 1, Phase: "train", scalars: report}
	if r.kept() {
		t.window.add(codes, levels)
	}
	return t.after(ctx, r, x)
}

// after advances the state and runs the periodic work. The order is fixed, and
// everything in it depends only on the state, so that a resumed run repeats it.
func (t *Trainer) after(ctx context.Context, r Record, x *tensors.Tensor) error {
	t.state.Step++
	if err := t.guard(&r); err != nil {
		return err
	}
	logged := t.state.Step%t.config.Train.Log == 0 || t.state.Step == t.config.Train.Steps
	if logged && t.state.Started {
		t.measureUsage(&r) // before a reset starts the window anew
	}
	if t.state.Started && r.kept() { // latents of a skipped step are no targets
		if err := t.solveAverages(); err != nil {
			return err
		}
		if err := t.maybeReset(x, &r); err != nil {
			return err
		}
	}
	if logged {
		if err := t.measure(&r); err != nil {
			return err
		}
	}
	if every := t.config.Train.Evaluate; every > 0 && t.state.Started && t.state.Step%every == 0 && t.source.Held.Len() > 0 {
		// An interruption waits for the evaluation: the step is already counted,
		// and a resumed run would not repeat it.
		if err := t.evaluate(context.WithoutCancel(ctx), &r); err != nil {
			return err
		}
		logged = true
	}
	if logged {
		r.fill(t)
		if err := t.journal.write(r); err != nil {
			return err
		}
	} else {
		r.fill(t)
	}
	if t.observe.Step != nil {
		t.observe.Step(r)
	}
	return nil
}

// pace computes the scalar input of an optimizer step, the updates-th of its
// parameters.
func (t *Trainer) pace(updates int) *tensors.Tensor {
	o, step, taken := t.config.Train.Optimizer, t.state.Step, float64(updates)
	rate := o.Rate * t.config.Train.Schedule.At(step, t.config.Train.Steps)
	values := []float32{
		float32(1 - math.Pow(o.Beta1, taken)), float32(1 - math.Pow(o.Beta2, taken)),
		float32(float64(step) / float64(t.config.Train.Steps)), float32(t.config.Train.ClipNorm),
	}
	for _, g := range weights.Groups {
		values = append(values, float32(rate*t.config.Train.Rates.rate(g)))
	}
	return tensors.FromFlatDataAndDimensions(values, len(values))
}

// call runs a step and reads its scalars and, if wanted, its codes.
func (t *Trainer) call(exec *model.Exec, x *tensors.Tensor, codes *[]int32, more ...any) ([]float32, error) {
	pace := t.pace(t.state.Step - t.state.Since + 1)
	defer pace.FinalizeAll()
	out, err := exec.Call(append([]any{x, pace}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	defer func() {
		for _, o := range out {
			o.FinalizeAll()
		}
	}()
	report, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return nil, err
	}
	if codes != nil {
		if *codes, err = tensors.CopyFlatData[int32](out[1]); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func (t *Trainer) trainExec() *model.Exec {
	if t.train == nil {
		t.train = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := weights.FromStore(t.store, in[0].Graph())
			next, report, index := t.trainStep(v, t.model.Loss, t.parameters, in[0], in[1], in[2], in[3])
			weights.Assign(t.store, next)
			return []*graph.Node{report, index}
		})
	}
	return t.train
}

func (t *Trainer) warmExec() *model.Exec {
	if t.warm == nil {
		t.warm = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := weights.FromStore(t.store, in[0].Graph())
			unquantized := func(ctx *vq.Context, x *graph.Node) (*graph.Node, vq.Output) {
				return t.model.Unquantized(ctx.Vars, x), vq.Output{}
			}
			next, report, _ := t.trainStep(v, unquantized, t.parameters, in[0], in[1], nil, nil)
			weights.Assign(t.store, next)
			return []*graph.Node{report}
		})
	}
	return t.warm
}

// warmup is the number of steps before codes are placed: none when there is no
// network to warm up.
func (t *Trainer) warmup() int {
	if t.model.Identity() {
		return 0
	}
	return int(t.config.Quantizer.Start.Warmup * float64(t.config.Train.Steps))
}

// cacheDue says whether C' must be rebuilt before this step.
func (t *Trainer) cacheDue(step int) bool {
	period := t.config.Quantizer.Cache.Period
	return period > 1 && (step-t.warmup())%period == 0
}

// refreshCache rebuilds the cached codebooks and, with advance, first steps the
// codebook's parameters by the gradients a period collected.
func (t *Trainer) refreshCache(advance bool) error {
	exec := &t.refresh
	if advance {
		exec = &t.advance
	}
	if *exec == nil {
		*exec = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, scalars *graph.Node) *graph.Node {
			v := weights.FromStore(t.store, scalars.Graph())
			weights.Assign(t.store, t.refreshStep(v, scalars, advance))
			return graph.Slice(scalars, graph.AxisRange(0, 1))
		})
	}
	pace := t.pace(max(1, (t.state.Step-t.state.Since)/t.config.Quantizer.Cache.Period))
	defer pace.FinalizeAll()
	out, err := (*exec).Call(pace)
	if err != nil {
		return fmt.Errorf("refreshing the codebook: %w", err)
	}
	for _, o := range out {
		o.FinalizeAll()
	}
	return nil
}

// activeLevels draws how many levels a step uses under quantizer dropout.
func (t *Trainer) activeLevels(step int) int {
	q := t.config.Quantizer
	if q.Dropout == 0 || q.Levels == 1 {
		return q.Levels
	}
	rng := weights.Rand(t.config.Seed, fmt.Sprintf("dropout %d", step))
	if rng.Float64() >= q.Dropout {
		return q.Levels
	}
	return 1 + rng.IntN(q.Levels)
}

func (t *Trainer) activeMask(levels int) *tensors.Tensor {
	mask := make([]float32, t.config.Quantizer.Levels)
	for l := range levels {
		mask[l] = 1
	}
	return tensors.FromFlatDataAndDimensions(mask, len(mask))
}
