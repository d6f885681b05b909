package vqtrain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// FitOptions say where and how [Fit] works.
type FitOptions struct {
	Options
	Trials    string           // directory of trials; the caller removes it when the result is stored
	Codes     []*weights.Array // first codes of every codebook; nil: placed on latents
	Reference bool             // measures the classical reference on the held-out rows
	// Started is told, once, of a classical start, which is a usable tokenizer. It owns
	// the runtime. May be nil.
	Started func(s Start) error
}

// Start is the classical quantizer that training starts from.
type Start struct {
	Config  Config // of the classical method
	Weights weights.Set
	Runtime *tokenizer.Runtime
	Held    tokenizer.Result // nil without held-out rows
}

// Outcome is a trained tokenizer.
type Outcome struct {
	Config    Config // with the chosen settings
	Weights   weights.Set
	Runtime   *tokenizer.Runtime   // the caller closes it
	Choice    *tokenizer.Choice    // nil if nothing was to be chosen
	Reference *tokenizer.Reference // nil if it was not measured
	First     int                  // step at which the last session began
	Steps     int                  // taken; none if the start was kept
	Seconds   float64              // of training, over all sessions, with the trials
}

// Progress is how far a run of several parts is.
type Progress struct {
	Doing       string // such as "trial 1 of 2"; empty for the training itself
	Done, Total int    // steps of all parts
}

// Fit trains a tokenizer. Settings that train.choose names are chosen by validation
// rows, a part of the training rows; the tokenizer is then trained on all of them with
// the chosen settings, or stays the start if training did not improve on it. A run that
// was stopped anywhere and is resumed ends as one that was not.
func Fit(ctx context.Context, backend compute.Backend, c Config, source Source, o FitOptions) (*Outcome, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	f := &fit{FitOptions: o, backend: backend, config: c, source: source, result: &Outcome{Config: c}, fits: map[string][]*weights.Array{}}
	classical, chooses := vq.Classical(c.Quantizer.Method), len(c.Train.Choose) > 0
	if o.Trials != "" && !classical && (chooses || o.Reference) {
		hash, err := config.Hash(c)
		var damaged error
		if err == nil {
			f.state, damaged, err = loadChoices(o.Trials, o.Resume, choices{Identity: hash, Data: o.Data})
		}
		if err != nil {
			return nil, err
		}
		if damaged != nil {
			next := "continuing from those before"
			if len(f.state.Choice.Starts) == 0 {
				next = "choosing again"
			}
			f.status("%v; %s", damaged, next)
		}
		if err := f.plan(); err != nil {
			return nil, err
		}
		if err := f.reference(ctx); err != nil {
			return nil, interrupted(ctx, err)
		}
		if chooses {
			err := f.choose(ctx)
			if err == nil {
				err = f.betterReference(ctx)
			}
			if err != nil {
				return nil, interrupted(ctx, err)
			}
		}
	}
	if err := f.train(ctx); err != nil {
		return nil, interrupted(ctx, err)
	}
	return f.result, nil
}

// interrupted makes the end of ctx the reason of a failure.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, train.ErrInterrupted) {
		return train.ErrInterrupted
	}
	return err
}

// fit is one call of [Fit].
type fit struct {
	FitOptions
	backend compute.Backend
	config  Config
	source  Source
	state   *choices
	result  *Outcome
	done    int                         // steps of finished parts
	total   int                         // steps of all parts, as planned
	trials  int                         // planned
	fits    map[string][]*weights.Array // classical starts, for [Trainer.fitStart]
}

// watch tells the observer of a part's steps as steps of the whole.
func (f *fit) watch(doing string) Observer {
	o := f.Watch
	if o.Step != nil {
		o.Step = func(r Record) {
			r.Progress = Progress{Doing: doing, Done: f.done + r.Step, Total: max(f.total, f.done+r.Step)}
			f.Watch.Step(r)
		}
	}
	return o
}

func (f *fit) status(format string, args ...any) {
	if f.Watch.Status != nil {
		f.Watch.Status(fmt.Sprintf(format, args...))
	}
}

// run prepares a trainer.
func (f *fit) run(ctx context.Context, c Config, source Source, o Options) (*Trainer, error) {
	t, err := New(ctx, f.backend, c, source, o)
	if err == nil {
		t.fits = f.fits
	}
	if err == nil && f.Codes != nil {
		if err = t.StartFrom(f.Codes); err != nil {
			t.Close()
		}
	}
	return t, err
}

// train is the last part: all training rows and the chosen settings.
func (f *fit) train(ctx context.Context) (err error) {
	r, c := f.result, f.config
	if f.state != nil {
		r.Reference = f.state.Reference
	}
	if f.state != nil && f.state.Done {
		r.Choice = &f.state.Choice
		if c, err = c.with(r.Choice.Settings); err != nil {
			return err
		}
		r.Config = c
	}
	f.total = f.done + c.Train.Steps
	o := f.Options
	o.Watch = f.watch("")
	t, err := f.run(ctx, c, f.judged(c), o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.choice = r.Choice
	r.First = t.Step()
	if r.Weights, err = t.Run(ctx); err != nil {
		return err
	}
	set, judged, err := f.judge(ctx, t, c, r.Weights)
	if err != nil {
		return err
	}
	if judged != nil {
		r.Choice, r.Weights = judged, set
		if c, err = c.with(judged.Settings); err != nil {
			return err
		}
		r.Config = c
	}
	if !c.Train.KeepStart {
		r.Steps = t.Step()
	}
	r.Seconds = t.Seconds()
	if r.Choice != nil && judged == nil {
		for _, trial := range r.Choice.Trials {
			r.Seconds += trial.Seconds
		}
	}
	r.Runtime, err = t.Runtime(r.Weights)
	return err
}

// reference fits the classical method of the same size, tells of it as the start that
// it is, and measures it.
func (f *fit) reference(ctx context.Context) error {
	q := f.config.Quantizer
	known := f.state.Reference != nil || len(f.state.Choice.Starts) > 0
	starts := f.Started != nil && q.StartsClassical() && f.Codes == nil && f.source.From == nil
	if known || f.config.Model.Pictures() || !starts && !f.measures() {
		return nil
	}
	s, err := f.fitReference(ctx, q)
	if err != nil {
		return err
	}
	if starts {
		err = f.Started(*s)
	} else {
		s.Runtime.Close()
	}
	if err != nil {
		return err
	}
	return f.state.save(f.Trials)
}

// measures says whether a reference is measured on held-out rows.
func (f *fit) measures() bool { return f.Reference && f.source.Held.Len() > 0 }

// betterReference measures the classical start that validation rows prefer to the one that training began with, unless it is
// the result.
func (f *fit) betterReference(ctx context.Context) error {
	best, number := f.state.Choice.BestStart()
	if r := f.state.Reference; number == 0 || f.state.Choice.Kept || !f.measures() || r != nil && r.Name == vq.LSQ.Title {
		return nil
	}
	c, err := f.config.with(best.Settings)
	if err != nil {
		return err
	}
	s, err := f.fitReference(ctx, c.Quantizer)
	if err != nil {
		return err
	}
	s.Runtime.Close()
	return f.state.save(f.Trials)
}

// fitReference fits the classical method for a quantizer and measures it. The caller closes its runtime.
func (f *fit) fitReference(ctx context.Context, q vq.Config) (*Start, error) {
	c, err := Default(q.Reference().Method)
	if err != nil {
		return nil, err
	}
	c.Seed, c.Quantizer = f.config.Seed, q.Reference()
	c.Train.Split, c.Train.HeldRows = f.config.Train.Split, f.config.Train.HeldRows
	c.Model.Standardize = f.config.Model.Standardize
	source := f.source
	source.From = nil
	dir, err := os.MkdirTemp(f.Trials, "reference")
	if err != nil {
		return nil, fmt.Errorf("fitting the classical reference: %w", err)
	}
	defer os.RemoveAll(dir)
	o := Options{Dir: dir, Data: f.Data, Watch: Observer{Step: func(Record) { f.status("fitting the classical start") }}}
	t, err := New(ctx, f.backend, c, source, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	set, err := t.Run(ctx)
	if err != nil {
		return nil, err
	}
	s := &Start{Config: c, Weights: set}
	seconds := t.Seconds()
	if s.Runtime, err = t.Runtime(set); err != nil {
		return nil, err
	}
	if f.source.Held.Len() > 0 {
		if s.Held, _, err = s.Runtime.Evaluate(ctx, f.source.HeldSet, f.source.Held, tokenizer.Options{}, nil); err != nil {
			s.Runtime.Close()
			return nil, err
		}
		if score := s.Held.Summary().Criterion; f.Reference && !math.IsInf(score, 0) { // equal rows have no relative error
			f.state.Reference = &tokenizer.Reference{Name: referenceName(q), Score: score, Seconds: seconds}
		}
	}
	return s, nil
}

func referenceName(q vq.Config) string {
	switch {
	case q.Search == vq.Local:
		return vq.LSQ.Title
	case q.Levels > 1:
		return "residual k-means"
	}
	return "k-means"
}
