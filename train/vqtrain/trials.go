package vqtrain

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
)

// trialShare is the number of trials that take as many steps as the training itself.
// A trial is a whole run of its own: errors fall most while the learning rate does, so
// a part of a longer run would mislead.
const trialShare = 2

// recipe is a way of training.
type recipe struct {
	settings []string   // assignments, the likeliest of every setting
	tries    [][]string // assignments of one setting each, the likeliest first
	steps    int
}

// recipes lists the ways of training that are tried, for a start on validation rows: its error and its settings.
func (f *fit) recipes(start tokenizer.Trial) ([]recipe, error) {
	chosen := f.config.Train.Choose
	kinds := [][]string{nil}
	if f.config.Train.Finish == 1 {
		kinds[0] = slices.Clone(start.Settings)
	}
	if slices.Contains(chosen, finishKey) {
		if values := rules[finishKey](f.config, f.source.Train.Len(), start.Error); values != nil {
			kinds = nil
			for _, value := range values {
				kinds = append(kinds, []string{finishKey + "=" + value})
			}
			kinds[0] = append(kinds[0], start.Settings...) // codes that learn start from those of the beam
		}
	}
	var all []recipe
	for _, settings := range kinds {
		c, err := f.config.with(settings)
		if err != nil {
			return nil, err
		}
		r := recipe{settings: settings}
		for _, key := range chosen {
			if key == searchKey || key == finishKey {
				continue
			}
			var values []string
			for _, value := range rules[key](c, f.source.Train.Len(), start.Error) {
				values = append(values, key+"="+value)
			}
			r.settings = append(r.settings, values[:min(1, len(values))]...)
			if len(values) > 1 {
				r.tries = append(r.tries, values)
			}
		}
		if c, err = f.config.with(r.settings); err != nil {
			return nil, err
		}
		r.steps = c.Train.Steps
		all = append(all, r)
	}
	return all, nil
}

// trials is the number of trials of the recipe.
func (r recipe) trials() int {
	n := 1
	for _, values := range r.tries {
		n += len(values) - 1
	}
	return n
}

// plan counts the steps of all parts for the progress line.
func (f *fit) plan() error {
	f.total = f.config.Train.Steps
	if len(f.config.Train.Choose) == 0 {
		return nil
	}
	all, err := f.recipes(tokenizer.Trial{Error: 1})
	if err != nil {
		return err
	}
	f.total = all[0].steps
	for _, r := range all {
		f.trials += r.trials()
		f.total += r.trials() * (r.steps / trialShare)
	}
	return nil
}

// validation divides the training rows.
func (f *fit) validation() Source {
	s := f.source
	s.HeldSet = s.Set
	s.Train, s.Held = s.Train.Divide(f.config.Train.Validation, f.config.Seed)
	return s
}

// choose sets what the number of rows decides, then tries the values of one setting
// after another, each with the best of those before it.
func (f *fit) choose(ctx context.Context) error {
	source, choice := f.validation(), &f.state.Choice
	choice.Rows = source.Held.Len()
	if choice.Rows < 2 || f.config.Quantizer.Placed() && source.Train.Len() < f.config.Quantizer.Codes {
		return f.decide(nil, true) // too few rows to judge by: the error of one has no variance to relate to
	}
	if err := f.measureStarts(ctx, source); err != nil {
		return err
	}
	start, _ := choice.BestStart()
	all, err := f.recipes(start)
	if err != nil {
		return err
	}
	var best tokenizer.Trial
	number := 0
	for i, r := range all {
		least, err := f.tryRecipe(ctx, r, number, source)
		if err != nil {
			return err
		}
		if number += r.trials(); i == 0 || least.Error < best.Error {
			best = least
		}
	}
	choice.Error = best.Error
	return f.decide(best.Settings, !(best.Error < (1-leastGain)*choice.Start))
}

// leastGain is the share of the start's error that training must take off: the start is simpler to search and to export.
const leastGain = 0.001

// tryRecipe returns the best trial of a recipe, whose first has the number.
func (f *fit) tryRecipe(ctx context.Context, r recipe, number int, source Source) (best tokenizer.Trial, err error) {
	if best, err = f.try(ctx, number, r.settings, source); err != nil {
		return best, err
	}
	for _, values := range r.tries {
		for _, value := range values[1:] {
			with := slices.Clone(best.Settings)
			with[slices.Index(r.settings, values[0])] = value
			number++
			trial, err := f.try(ctx, number, with, source)
			if err != nil {
				return best, err
			}
			if trial.Error < best.Error {
				best = trial
			}
		}
	}
	return best, nil
}

// keepsStart is the setting of a tokenizer that training did not improve.
const keepsStart = "train.keep_start=true"

// decide ends the choice.
func (f *fit) decide(settings []string, keep bool) error {
	choice := &f.state.Choice
	if choice.Settings, choice.Kept = settings, keep; keep {
		best, _ := choice.BestStart()
		choice.Settings, choice.Error = append([]string{keepsStart}, best.Settings...), choice.Start
	}
	f.state.Done = true
	return f.state.save(f.Trials)
}

// starts are the settings of the classical starts to compare.
func (f *fit) starts() [][]string {
	if !slices.Contains(f.config.Train.Choose, searchKey) {
		return [][]string{nil}
	}
	var all [][]string
	for _, value := range rules[searchKey](f.config, f.source.Train.Len(), 1) {
		all = append(all, []string{searchKey + "=" + value})
	}
	if all == nil {
		return [][]string{nil}
	}
	return all
}

// measureStarts scores the starts on the validation rows.
func (f *fit) measureStarts(ctx context.Context, source Source) error {
	choice := &f.state.Choice
	for number, settings := range f.starts() {
		if number < len(choice.Starts) {
			continue // known from an earlier session
		}
		start, err := f.measureStart(ctx, settings, source)
		if err != nil {
			return err
		}
		choice.Starts = append(choice.Starts, start)
		best, _ := choice.BestStart()
		choice.Start = best.Error
		if err := f.state.save(f.Trials); err != nil {
			return err
		}
	}
	return nil
}

func (f *fit) measureStart(ctx context.Context, settings []string, source Source) (start tokenizer.Trial, err error) {
	c, err := f.config.with(settings)
	if err != nil {
		return start, err
	}
	dir, err := os.MkdirTemp(f.Trials, "start")
	if err != nil {
		return start, fmt.Errorf("measuring the start: %w", err)
	}
	defer os.RemoveAll(dir)
	f.status("measuring the start")
	c.Train.HeldRows = 0 // all validation rows judge
	begun := time.Now()
	t, err := f.run(ctx, c, source, Options{Dir: dir, Data: f.Data})
	if err != nil {
		return start, err
	}
	defer t.Close()
	start.Settings = settings
	start.Error, err = t.startError(ctx)
	start.Seconds = time.Since(begun).Seconds()
	return start, err
}

// try returns a trial's result: of an earlier session, or of training without the
// validation rows.
func (f *fit) try(ctx context.Context, number int, settings []string, source Source) (trial tokenizer.Trial, err error) {
	c, err := f.config.with(settings)
	if err != nil {
		return trial, err
	}
	steps := max(1, c.Train.Steps/trialShare)
	defer func() { f.done += steps }()
	if trials := f.state.Choice.Trials; number < len(trials) {
		return trials[number], nil
	}
	c.Train.Steps, c.Train.Patience, c.Train.Flat, c.Train.Best, c.Train.Evaluate, c.Train.HeldRows = steps, 0, 0, false, 0, 0
	c.Train.Schedule.Warmup = warmupOf(c, steps)
	o := f.Options
	o.Dir = filepath.Join(f.Trials, strconv.Itoa(number))
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return trial, fmt.Errorf("making a directory for a trial: %w", err)
	}
	name := fmt.Sprintf("trial %d of %d", number+1, f.trials)
	o.Data, o.Watch = f.Data+" without validation rows", f.watch(name)
	if o.Resume = train.HasCheckpoint(o.Dir); o.Resume { // its beginning is not worth a remark
		f.status("continuing with %s", name)
	}
	t, err := f.run(ctx, c, source, o)
	if err != nil {
		return trial, err
	}
	defer t.Close()
	set, err := t.Run(ctx)
	if err != nil {
		return trial, err
	}
	score, _, err := t.evaluate(ctx, set)
	if err != nil {
		return trial, err
	}
	score = max(score, -math.MaxFloat64) // JSON has no infinity
	trial = tokenizer.Trial{Settings: settings, Steps: steps, Error: -score, Seconds: t.Seconds()}
	f.state.Choice.Trials = append(f.state.Choice.Trials, trial)
	if err := f.state.save(f.Trials); err != nil {
		return trial, err
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		return trial, fmt.Errorf("removing a finished trial: %w", err)
	}
	return trial, nil
}
