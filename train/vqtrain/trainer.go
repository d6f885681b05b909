package vqtrain

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Options and observers of a run. Only logged steps have all fields of a record.
type (
	Options  = train.OptionsOf[Record]
	Observer = train.ObserverOf[Record]
)

// Trainer runs one experiment: the loop of package train, with all that codes
// need between its steps.
type Trainer struct {
	config  Config
	backend compute.Backend
	model   *tokenizer.Tokenizer
	source  Source
	loop    *train.Trainer
	bank    *weights.Bank // of the loop

	codes   []*weights.Array            // first codes of every codebook; nil: placed on latents
	fits    map[string][]*weights.Array // classical starts by settings and rows; nil: not shared
	choice  *tokenizer.Choice           // of the settings; may be nil
	sampler *dataset.Sampler
	state   state
	record  Record // of the step under way

	previous []*weights.Array // usable codes before a logged step, without a cache

	settled settledCodes // of rows whose codes can no longer change

	deferred     []string // trained once a refresh, when the cache accumulates
	accumulators []string // cached codebooks whose gradient is collected

	runtime *tokenizer.Runtime // for evaluations; nil before the first
}

// state is a tokenizer's part of a checkpoint.
type state struct {
	Started bool     `json:"started"`           // codes were placed
	Resets  int      `json:"resets"`            // codes moved so far
	Smooth  float64  `json:"smooth"`            // running mean of the reconstruction error
	Window  *window  `json:"window"`            // how often codes were chosen lately
	Start   *float64 `json:"start,omitempty"`   // validation error of the start; nil: not measured
	Contest *contest `json:"contest,omitempty"` // with the discriminator; nil: it has not begun
	Drift   float64  `json:"drift,omitempty"`   // of the cached codebooks at their last refresh
}

// New prepares a run: it restores a checkpoint or starts afresh.
func New(ctx context.Context, backend compute.Backend, c Config, source Source, o Options) (*Trainer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := c.Tokenizer(source.Set.Input())
	if err != nil {
		return nil, err
	}
	if err := c.CheckFrom(source.From); err != nil {
		return nil, err
	}
	if err := checkRange(c, source); err != nil {
		return nil, err
	}
	// Each phase starts codes of its own.
	placed := c.Quantizer.Placed() && (source.From == nil || c.adds(source.From))
	if tokens := source.Train.Len() * m.Tokens() / max(1, c.Quantizer.Transform.Context); placed && tokens < c.Quantizer.Codes {
		return nil, tooFew(tokens, m.Modality().Tokens(), c.Quantizer.Codes)
	}
	sampler, err := dataset.NewSampler(source.Train, c.Train.Batch, c.Seed)
	if err != nil {
		return nil, err
	}
	if err := m.CheckStep(c.Train.Batch / max(1, c.Train.Accumulate)); err != nil {
		return nil, err
	}
	t := &Trainer{config: c, backend: backend, model: m, source: source, sampler: sampler}
	t.state.Window = newWindow(m.Quantizer.Layout(), c.Quantizer.Resets)
	problem, err := t.problem()
	if err != nil {
		return nil, err
	}
	loop := train.Options{Dir: o.Dir, Data: o.Data, Resume: o.Resume, Pack: o.Pack, Watch: train.Observer{Status: o.Watch.Status}}
	if o.Watch.Step != nil {
		loop.Watch.Step = func(train.Record) { o.Watch.Step(t.record) }
	}
	if t.loop, err = train.New(ctx, backend, problem, c.loop(), loop); err != nil {
		return nil, err
	}
	t.bank = t.loop.Bank()
	return t, t.listCached()
}

// checkRange refuses vectors whose values, or their squares where they are not scaled, leave the range of float32.
func checkRange(c Config, source Source) error {
	most := 1e30
	if c.Model.Standardize == "none" {
		most = 1e17
	}
	for i, variance := range source.Variance {
		if size := math.Hypot(source.Mean[i], math.Sqrt(variance)); size > most {
			return fmt.Errorf("dimension %d of the training vectors has values of the size %.2g, and beyond %.0e they overflow in "+
				"single precision; divide the data by a constant, or leave out the rows with such values", i, size, most)
		}
	}
	return nil
}

// tooFew refuses data with fewer items than a level has codes to start.
func tooFew(tokens int, name string, codes int) error {
	if tokens < 2 { // the fewest codes of a level
		return fmt.Errorf("codes need at least 2 training %s to tell apart, and there is %d; give more data", name, tokens)
	}
	return fmt.Errorf("%d training %s are fewer than the %d codes of a level; use --codes %d or less, or more data",
		tokens, name, codes, tokens)
}

// problem describes the experiment to the loop.
func (t *Trainer) problem() (train.Problem, error) {
	hash, err := config.Hash(t.config)
	if err != nil {
		return train.Problem{}, err
	}
	perceptual, err := t.perceptualVariables()
	p := train.Problem{
		Identity: hash,
		Init:     t.initNetwork,
		Batch:    t.batch,
		Hooks: train.Hooks{
			Build: t.build, Parts: t.config.Train.Accumulate, Constants: perceptual, Role: t.role,
			Rate: t.rate, Decay: t.config.Train.Optimizer.decays(), Stride: t.stride,
			Before: t.before, After: t.after, Describe: t.describe,
			State: &t.state,
		},
	}
	if t.source.Held.Len() > 0 {
		p.Evaluate = t.evaluate
	}
	return p, err
}

// StartFrom takes first codes [K,d'] of every codebook instead of codes placed on
// latents. It fails on codes that do not fit.
func (t *Trainer) StartFrom(codes []*weights.Array) error {
	t.codes = codes
	_, err := vq.StartFrom(t.model.Quantizer, codes)
	return err
}

// Model is the tokenizer under training.
func (t *Trainer) Model() *tokenizer.Tokenizer { return t.model }

// Step is the number of steps done.
func (t *Trainer) Step() int { return t.loop.Step() }

// Run trains to the end (classical methods are fitted at once) and returns the
// variables to export. It stops early with [train.ErrInterrupted] when ctx ends,
// after saving.
func (t *Trainer) Run(ctx context.Context) (weights.Set, error) {
	atOnce := t.fitClassical
	if t.config.Train.KeepStart {
		atOnce = t.keepStart
	}
	if vq.Classical(t.config.Quantizer.Method) || t.config.Train.KeepStart {
		set, err := atOnce(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, train.ErrInterrupted
		}
		return set, err
	}
	result, err := t.loop.Run(ctx)
	if err != nil {
		return nil, err
	}
	t.hold(result.Weights)
	return result.Weights, nil
}

// Seconds is the time of training so far, over all sessions.
func (t *Trainer) Seconds() float64 { return t.loop.Seconds() }

// Close releases the log file and the engine's memory. What Run returned stays
// valid.
func (t *Trainer) Close() error {
	if t.runtime != nil {
		t.runtime.Close()
	}
	return t.loop.Close()
}

// batchInputs is the number of inputs of a part of a batch: items and mask.
const batchInputs = 2

// batch reads the examples of a step, part after part, each with a mask [levels]
// that is 1 for levels in use.
func (t *Trainer) batch(step int64) (inputs []*tensors.Tensor, err error) {
	rows := make([]int, t.config.Train.Batch)
	t.sampler.Batch(step, rows)
	parts := max(1, t.config.Train.Accumulate)
	size, mask := len(rows)/parts, make([]float32, t.config.Quantizer.Levels)
	for l := range t.activeLevels(int(step)) {
		mask[l] = 1
	}
	for i := range parts {
		items, err := t.source.Set.Draw(rows[i*size:(i+1)*size], t.config.Seed, step*int64(parts)+int64(i))
		if err != nil {
			return inputs, err
		}
		t.blur(items.Values, step, i)
		inputs = append(inputs, t.model.Tensor(items), tensors.FromFlatDataAndDimensions(mask, len(mask)))
	}
	return inputs, nil
}

// blur adds train.noise to the rows [N,input] of a part of a step.
func (t *Trainer) blur(values []float32, step int64, part int) {
	if t.config.Train.Noise == 0 {
		return
	}
	total := 0.0
	for _, v := range t.source.Variance {
		total += v / float64(len(t.source.Variance))
	}
	rng, deviation := weights.Rand(t.config.Seed, fmt.Sprintf("blur %d %d", step, part)), t.config.Train.Noise*math.Sqrt(total)
	for i := range values {
		values[i] += float32(deviation * rng.NormFloat64())
	}
}

// activeLevels draws how many levels a step uses under quantizer dropout.
func (t *Trainer) activeLevels(step int) int {
	q := t.config.Quantizer
	if q.Dropout == 0 || q.Levels == 1 || t.config.Train.Finish == 1 {
		return q.Levels
	}
	rng := weights.Rand(t.config.Seed, fmt.Sprintf("dropout %d", step))
	if rng.Float64() >= q.Dropout {
		return q.Levels
	}
	return 1 + rng.IntN(q.Levels)
}
