package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/weights"
)

const averagePrefix = "average"

// skipsInARow is the number of steps without a finite gradient, one after the
// other, at which a run gives up.
const skipsInARow = 20

// ErrInterrupted is returned when the context ended; the checkpoint holds the
// state, and a resumed run continues from it.
var ErrInterrupted = errors.New("interrupted")

// trainer is one run.
type trainer struct {
	config     Config
	problem    Problem
	backend    compute.Backend
	options    Options
	begun      time.Time
	before     float64 // seconds of earlier sessions
	bank       *weights.Bank
	packs      bool     // also for the embedded engine
	parameters []string // paths they travel under
	exec       *model.Exec
	log        *os.File
	state      state
	best       weights.Set
}

// state is the host's part of a checkpoint.
type state struct {
	Step     int     `json:"step"`
	Skipped  int     `json:"skipped"`
	InARow   int     `json:"in_a_row"`
	Best     float64 `json:"best"`
	BestStep int     `json:"best_step"`
	Stale    int     `json:"stale"`
	Stopped  bool    `json:"stopped"`
	LogBytes int64   `json:"log_bytes"`
	Identity string  `json:"identity"`
	Seconds  float64 `json:"seconds"`
}

// Run trains a model; the directory holds checkpoint.safetensors and log.jsonl
// meanwhile. Every run of the same problem, configuration and seed ends with the
// same weights however often it was stopped.
func Run(ctx context.Context, backend compute.Backend, problem Problem, config Config, o Options) (*Result, error) {
	heapguard.Ensure()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &trainer{config: config, problem: problem, backend: backend, options: o, bank: weights.NewBank()}
	return t.run(ctx)
}

func (t *trainer) run(ctx context.Context) (*Result, error) {
	config := t.config
	t.begun = time.Now()
	defer t.bank.Finalize()
	defer func() {
		if t.log != nil {
			t.log.Close()
		}
	}()
	if err := t.prepare(); err != nil {
		return nil, err
	}
	if t.exec != nil {
		defer t.exec.Finalize()
	}
	feed := dataset.NewPrefetcher(ctx, int64(t.state.Step), int64(config.Steps), 2, t.problem.Batch, func(x []*tensors.Tensor) { finalize(x) })
	defer feed.Close()
	rhythm := checkpoint.NewRhythm(config.Checkpoint)
	for t.state.Step < config.Steps && !t.state.Stopped {
		inputs, err := feed.Next(ctx)
		if err == nil {
			err = t.one(ctx, inputs)
			finalize(inputs)
		}
		switch {
		case err != nil && !errors.Is(err, ctx.Err()):
			// Also when ctx has ended meanwhile: the step is counted and what falls due
			// after it was not done, so this state is not one to continue from.
			return nil, err
		case ctx.Err() != nil:
			return nil, t.interrupt()
		}
		if rhythm.Due(t.state.Step) {
			if err := t.save(); err != nil {
				return nil, err
			}
		}
	}
	set, err := t.export()
	if err != nil {
		return nil, err
	}
	return &Result{Weights: set, Seconds: t.seconds()}, nil
}

// identity is what a checkpoint must have been made with to be continued.
func (t *trainer) identity() string { return t.problem.Identity + " " + t.options.Data }

// seconds is the time spent so far, that of earlier sessions included.
func (t *trainer) seconds() float64 { return t.before + time.Since(t.begun).Seconds() }

func finalize(list []*tensors.Tensor) {
	for _, x := range list {
		x.FinalizeAll()
	}
}

// prepare restores a checkpoint or starts afresh.
func (t *trainer) prepare() error {
	t.state = state{Best: math.Inf(-1), Identity: t.identity()}
	first := t.problem.Init()
	t.pack(first)
	restored := false
	if t.options.Resume {
		var err error
		if restored, err = t.restore(); err != nil {
			return err
		}
	}
	if !restored {
		all := weights.Set{}.Merge("", first)
		trained := weights.Set{}
		for p, a := range first {
			if weights.GroupOf(p) == weights.State {
				continue
			}
			trained[p] = a
			if t.config.Average > 0 {
				all[averagePrefix+"/"+p] = a.Clone()
			}
		}
		if err := t.bank.Install(all.Merge("", t.config.Optimizer.Init(trained))); err != nil {
			return err
		}
	}
	for _, p := range first.Paths() {
		if carrier := t.bank.Carrier(p); weights.GroupOf(p) != weights.State && !slices.Contains(t.parameters, carrier) {
			t.parameters = append(t.parameters, carrier)
		}
	}
	file, err := os.OpenFile(filepath.Join(t.options.Dir, LogFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("opening the training log: %w", err)
	}
	t.log = file
	if info, err := file.Stat(); err == nil {
		t.state.LogBytes = min(t.state.LogBytes, info.Size()) // records that were lost are not made up
	}
	if err := file.Truncate(t.state.LogBytes); err != nil {
		return fmt.Errorf("opening the training log: %w", err)
	}
	if _, err := file.Seek(t.state.LogBytes, io.SeekStart); err != nil {
		return fmt.Errorf("opening the training log: %w", err)
	}
	return t.compile()
}

// packedPath is where the trained variables travel, many together.
const packedPath = "packed"

// pack makes the trained variables travel together where the engine compiles.
func (t *trainer) pack(first weights.Set) {
	if !weights.Compiles(t.backend) && !t.packs {
		return
	}
	trained := weights.Set{}
	for p, a := range first {
		if weights.GroupOf(p) != weights.State {
			trained[p] = a
		}
	}
	var slots []string
	for _, slot := range t.config.Optimizer.Slots() {
		slots = append(slots, slot.Prefix)
	}
	t.bank.Pack(packedPath, trained, append(slots, averagePrefix)...)
}

func (t *trainer) compile() (err error) {
	t.exec, err = model.NewExec(t.backend, t.bank.Store(), func(_ *model.Scope, in []*graph.Node) *graph.Node {
		v := t.bank.Vars(in[0].Graph())
		next, report := t.step(v, in[2:], in[0], in[1])
		t.bank.Assign(next)
		return report
	})
	if t.options.Watch.Status != nil && weights.Compiles(t.backend) {
		t.options.Watch.Status("compiling the training step")
	}
	return err
}

// one takes a step and does what falls due after it.
func (t *trainer) one(ctx context.Context, inputs []*tensors.Tensor) error {
	random, err := graph.RNGStateFromSeed(int64(weights.Rand(t.config.Seed, fmt.Sprintf("noise %d", t.state.Step)).Uint64() >> 1))
	if err != nil {
		return err
	}
	pace, rate := t.pace()
	args := []any{pace, random}
	for _, x := range inputs {
		args = append(args, x)
	}
	out, err := t.exec.Call(args...)
	pace.FinalizeAll()
	random.FinalizeAll()
	if err != nil {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	report, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return err
	}
	finalize(out)
	t.state.Step++
	r := Record{Step: t.state.Step, Loss: number(report[outLoss]), GradientNorm: number(report[outNorm]), Rate: rate}
	if report[outKept] > 0 {
		t.state.InARow = 0
	} else {
		t.state.Skipped++
		t.state.InARow++
		r.Event = "loss or gradient is not finite: step skipped"
		if t.state.InARow >= skipsInARow {
			return fmt.Errorf("training diverged: %d steps in a row up to step %d had no finite loss or gradient; lower train.optimizer.rate (now %g)", t.state.InARow, t.state.Step, t.config.Optimizer.Rate)
		}
	}
	r.Skipped = t.state.Skipped
	last := t.state.Step == t.config.Steps
	if every := t.config.Evaluate; t.problem.Evaluate != nil && (last || every > 0 && t.state.Step%every == 0) {
		if err := t.evaluate(context.WithoutCancel(ctx), &r); err != nil {
			return err
		}
	}
	if last || r.Scores != nil || r.Event != "" || t.state.Step%t.config.Log == 0 {
		if err := t.write(r); err != nil {
			return err
		}
	}
	if t.options.Watch.Step != nil {
		t.options.Watch.Step(r)
	}
	return nil
}

// number keeps records valid JSON.
func number(x float32) float64 {
	if v := float64(x); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return -1
}

func (t *trainer) pace() (*tensors.Tensor, float64) {
	o, taken := t.config.Optimizer, float64(t.state.Step+1)
	rate := o.Rate * t.config.Schedule.At(t.state.Step, t.config.Steps)
	values := make([]float32, paceInputs)
	values[paceCorrection1], values[paceCorrection2] = float32(1-math.Pow(o.Beta1, taken)), float32(1-math.Pow(o.Beta2, taken))
	values[paceRate], values[paceClip] = float32(rate), float32(t.config.ClipNorm)
	values[paceAverage] = float32(1 - min(t.config.Average, (1+taken)/(10+taken)))
	return tensors.FromFlatDataAndDimensions(values, paceInputs), rate
}

// evaluate scores the current weights and keeps the best.
func (t *trainer) evaluate(ctx context.Context, r *Record) error {
	if t.options.Watch.Status != nil {
		t.options.Watch.Status("evaluating")
	}
	set, err := t.current()
	if err != nil {
		return err
	}
	score, all, err := t.problem.Evaluate(ctx, set)
	if err != nil {
		return fmt.Errorf("evaluating at step %d: %w", t.state.Step, err)
	}
	r.Scores = all
	if score > t.state.Best {
		t.state.Best, t.state.BestStep, t.state.Stale = score, t.state.Step, 0
		if t.config.Best {
			t.best = set
		}
		return nil
	}
	t.state.Stale++
	if p := t.config.Patience; p > 0 && t.state.Stale >= p {
		t.state.Stopped = true
		r.Event = fmt.Sprintf("no improvement since step %d: stopping early", t.state.BestStep)
	}
	return nil
}

// current returns the variables as they would be exported now.
func (t *trainer) current() (weights.Set, error) {
	all, err := t.bank.Read("")
	if err != nil {
		return nil, err
	}
	set := weights.Set{}
	for p, a := range all {
		if strings.HasPrefix(p, "optimizer/") || strings.HasPrefix(p, averagePrefix+"/") {
			continue
		}
		set[p] = a
		if average, ok := all[averagePrefix+"/"+p]; ok {
			set[p] = average
		}
	}
	return set, nil
}

func (t *trainer) export() (weights.Set, error) {
	if t.best != nil {
		return t.best, nil
	}
	return t.current()
}

func (t *trainer) write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	n, err := t.log.Write(append(line, '\n'))
	t.state.LogBytes += int64(n)
	if err != nil {
		return fmt.Errorf("writing the training log: %w", err)
	}
	return nil
}

func (t *trainer) interrupt() error {
	if err := t.save(); err != nil {
		return fmt.Errorf("%w, and the checkpoint could not be saved: %w", ErrInterrupted, err)
	}
	return ErrInterrupted
}
