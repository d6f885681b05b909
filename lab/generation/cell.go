package generation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Place says where a job runs.
type Place struct {
	Data    string // directory below which jobs name their pictures
	Metrics string // directory of metric networks
	Work    string // directory of the jobs' directories
	Backend string // see engine.Choose
	Command string // recorded in manifests
}

// Measure runs a job in its directory below Work. A stage that an earlier call finished there is not repeated, and one that
// was interrupted continues.
func Measure(ctx context.Context, j Job, p Place, watch task.Watcher) (r Record, err error) {
	r = Record{Job: j, Seconds: map[string]float64{}}
	if err := j.Check(); err != nil {
		return r, err
	}
	m := &measuring{Place: p, job: j, record: &r, watch: watch, dir: filepath.Join(p.Work, j.ID)}
	if err := output.MakeDir(m.dir); err != nil {
		return r, err
	}
	for _, s := range []struct {
		name string
		run  func(context.Context) (result any, err error)
		into any
	}{
		{"tokenizer", m.trainTokenizer, &r.TokenizerHash},
		{"reconstructed", m.reconstruct, &r.Reconstructed},
		{"prior", m.trainPrior, &r.PriorHash},
		{"likelihood", m.likelihood, &r.Likelihood},
		{"samples", m.draw, new(prior.Sampled)},
		{"drawn", m.score, &r.Drawn},
	} {
		if err := m.stage(ctx, s.name, s.run, s.into); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return r, nil
}

func (p Place) path(path string) string { return within(p.Data, path) }

type measuring struct {
	Place
	job    Job
	record *Record
	watch  task.Watcher
	dir    string
}

func (m *measuring) file(name string) string { return filepath.Join(m.dir, name) }

// stage runs a stage and keeps its result in a file, or reads the file. A stage of another job with the same identifier is
// refused.
func (m *measuring) stage(ctx context.Context, name string, run func(context.Context) (any, error), into any) error {
	type kept struct {
		Job     Job             `json:"job"`
		Seconds float64         `json:"seconds"` // of the last call
		Result  json.RawMessage `json:"result"`
	}
	var k kept
	path := m.file(name + ".json")
	content, err := memory.ReadFile(path)
	switch {
	case err == nil:
		if err := cmp.Or(json.Unmarshal(content, &k), seal.Verify(content, &k)); err != nil {
			return fmt.Errorf("%s is damaged: %w; remove it", path, err)
		}
		if !k.Job.same(m.job) {
			return fmt.Errorf("%s is of a job with the same identifier and other settings; rename the job or remove its directory", path)
		}
	case errors.Is(err, fs.ErrNotExist):
		begun := time.Now()
		result, err := run(ctx)
		if err != nil {
			return err
		}
		k.Job, k.Seconds = m.job, time.Since(begun).Seconds()
		m.watch.Remark("%s in %s", name, table.Seconds(k.Seconds))
		if k.Result, err = json.Marshal(result); err != nil {
			return err
		}
		if err := seal.WriteFile(path, k); err != nil {
			return err
		}
	default:
		return err
	}
	m.record.Seconds[name] = k.Seconds
	return json.Unmarshal(k.Result, into)
}

// tokenizerConfig is the configuration of a job's tokenizer.
func tokenizerConfig(j Job) (vqtrain.Config, error) {
	settings := tokenize.Settings{Preset: "default", Pictures: true, Sets: j.Tokenizer, Final: func(c *vqtrain.Config) {
		c.Quantizer.Method, c.Quantizer.Codes, c.Seed = j.Method, j.Codes, j.Seed
		c.Train.Flat = 0 // all methods have the same budget
	}}
	return settings.ConfigOf(j.Method)
}

func (m *measuring) trainTokenizer(ctx context.Context) (any, error) {
	c, err := tokenizerConfig(m.job)
	if err != nil {
		return nil, err
	}
	trained, err := tokenize.Train(ctx, tokenize.TrainOptions{Config: c, Output: m.file("tok"), Backend: m.Backend, Resume: true,
		Input:   tokenize.Input{Path: m.path(m.job.Train), Held: m.path(m.job.Val), Metrics: m.Metrics, FixedPerceptual: true},
		Command: m.Command}, m.watch)
	if err != nil {
		return nil, err
	}
	return trained.Bundle.Manifest.ConfigHash, nil
}

func (m *measuring) reconstruct(ctx context.Context) (any, error) {
	scores, err := tokenize.Evaluate(ctx, tokenize.EvaluateOptions{Metrics: m.Metrics,
		CodingOptions: tokenize.CodingOptions{Dir: m.file("tok"), Input: m.path(m.job.Val), Backend: m.Backend}}, m.watch)
	if err != nil {
		return nil, err
	}
	return scores.Result, nil
}

func (m *measuring) trainPrior(ctx context.Context) (any, error) {
	trained, err := prior.TrainPrior(ctx, prior.TrainOptions{Dir: m.file("prior"), Resume: true, Backend: m.Backend, Command: m.Command,
		Settings: prior.Settings{Set: append([]string{fmt.Sprintf("train.seed=%d", m.job.Seed)}, m.job.Prior...)},
		Source:   prior.Source{Tokenizer: m.file("tok"), Pictures: m.path(m.job.Train)}}, m.watch)
	if err != nil {
		return nil, err
	}
	return trained.Manifest.ConfigHash, nil
}

func (m *measuring) likelihood(ctx context.Context) (any, error) {
	return prior.Evaluate(ctx, prior.EvalOptions{Dir: m.file("prior"), Pictures: m.path(m.job.Val), Backend: m.Backend}, m.watch)
}

// draw draws the pictures into samples.tar. All jobs share their seed.
func (m *measuring) draw(ctx context.Context) (any, error) {
	sampling := gpt.DefaultSampling()
	sampling.Seed = 1
	drawn, err := prior.Sample(ctx, prior.SampleOptions{Dir: m.file("prior"), Output: m.file(samplesFile), Count: m.job.count(),
		Sampling: sampling, Backend: m.Backend}, m.watch)
	if err != nil {
		return nil, err
	}
	return drawn, keepFirst(ctx, m.dir)
}

// score compares the samples with pictures.
func (m *measuring) score(ctx context.Context) (any, error) {
	return picture.Score(ctx, picture.ScoreOptions{Samples: m.file(samplesFile), Reference: m.path(m.job.Train), Held: m.path(m.job.Val),
		Metrics: m.Metrics, Backend: m.Backend, Cache: filepath.Join(m.Work, "features")}, m.watch)
}
