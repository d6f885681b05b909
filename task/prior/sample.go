package prior

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/tokenizer"
)

// SampleOptions say what is drawn from a stored prior.
type SampleOptions struct {
	Dir      string // of the prior
	Output   string // a grid (.png), a .tar or a folder of pictures, or a file of codes
	Count    int    // pictures or rows
	Sampling gpt.SamplerOptions
	Class    *string // of all pictures; nil draws as if they had none
	Complete string  // a picture whose upper half all share
	Force    bool    // replace the numbered pictures of a folder
	Backend  string  // see engine.Choose
}

// Sampled describes what was drawn.
type Sampled struct {
	Output    string  `json:"output"`
	Count     int     `json:"count"`   // pictures or rows
	Kept      int     `json:"kept"`    // of a run before
	Seconds   float64 `json:"seconds"` // of drawing codes and pictures
	PerSecond float64 `json:"per_second"`

	content string
}

// String implements fmt.Stringer.
func (s Sampled) String() string {
	text := fmt.Sprintf("%s: %s", s.Output, s.content)
	if s.Count > s.Kept {
		text += fmt.Sprintf(", %s a second", report.Number(s.PerSecond, 3))
	}
	return text
}

// Sample draws rows of codes from a stored prior and writes them, or the pictures that
// they are decoded to. A row is a function of the seed and its number. The codes of a run
// that was killed are kept: repeated with the same options, it continues after them.
func Sample(ctx context.Context, o SampleOptions, w task.Watcher) (*Sampled, error) {
	if o.Count < 1 {
		return nil, usage.Errorf("-n %d must be at least 1", o.Count)
	}
	if err := o.Sampling.Validate(); err != nil {
		return nil, usage.Error{Err: err}
	}
	p, err := Load(o.Dir)
	if err != nil {
		return nil, err
	}
	start, err := o.start(p)
	if err != nil {
		return nil, err
	}
	out, err := o.output(p)
	if err != nil {
		return nil, err
	}
	backend, err := engine.Choose(o.Backend)
	if err != nil {
		return nil, err
	}
	s := &sampling{SampleOptions: o, prior: p, watch: w}
	defer s.close()
	if out.pictures() || o.Complete != "" {
		if s.runtime, err = p.runtime(backend); err != nil {
			return nil, err
		}
	}
	if o.Complete != "" {
		if s.upper, err = completion(ctx, p, s.runtime, o.Complete); err != nil {
			return nil, err
		}
	}
	return s.run(ctx, backend, start, out)
}

// start is the start token of all rows.
func (o SampleOptions) start(p *Prior) (int32, error) {
	names, hidden := p.Manifest.Classes, p.Config.Model.ClassDropout > 0
	switch {
	case o.Class == nil && len(names) > 0 && !hidden:
		return 0, usage.Errorf("the prior %s has always seen classes (model.class_dropout 0); name one with --class: %s", o.Dir, listed(names))
	case o.Class == nil && o.Sampling.Guidance != 1:
		return 0, usage.Errorf("--guidance is towards a class; name one with --class")
	case o.Class == nil:
		return p.Model.Layout.NoClass(), nil
	case len(names) == 0:
		return 0, usage.Errorf("--class: the prior %s was trained without classes; leave it out", o.Dir)
	case o.Sampling.Guidance != 1 && !hidden:
		return 0, usage.Errorf("--guidance needs a prior that has also seen pictures without their class " +
			"(model.class_dropout above 0); leave it out")
	}
	numbers, err := starts([]string{*o.Class}, names)
	if err != nil {
		return 0, usage.Error{Err: err}
	}
	return numbers[0], nil
}

// runtime prepares the tokenizer of a prior of pictures.
func (p *Prior) runtime(backend compute.Backend) (*tokenizer.Runtime, error) {
	b, err := p.Tokenizer()
	if err != nil {
		return nil, err
	}
	r, err := b.Runtime(backend)
	if err != nil {
		return nil, fmt.Errorf("preparing the tokenizer: %w", err)
	}
	return r, nil
}

// sampling is a run of Sample.
type sampling struct {
	SampleOptions
	prior   *Prior
	runtime *tokenizer.Runtime // nil if only codes are drawn
	upper   *upper             // nil if nothing is given
	watch   task.Watcher
}

func (s *sampling) close() {
	if s.runtime != nil {
		s.runtime.Close()
	}
}

// identity tells runs with other results apart.
func (s *sampling) identity(start int32) string {
	model, _ := s.prior.Manifest.File(ModelFile)
	o := s.Sampling
	id := fmt.Sprintf("samples %d of %s %s seed %d temperature %g top-k %d top-p %g start %d guidance %g backend %s", s.Count, model.SHA256,
		s.prior.Manifest.Tokenizer, o.Seed, o.Temperature, o.TopK, o.TopP, start, o.Guidance, s.Backend)
	if s.upper != nil {
		id += fmt.Sprintf(" given %x", s.upper.sum())
	}
	return id
}

// together is the least number of rows that are drawn between two records of them.
const together = 64

func (s *sampling) run(ctx context.Context, backend compute.Backend, start int32, out destination) (*Sampled, error) {
	begun := time.Now()
	o := s.Sampling
	o.Total = s.Count
	sampler, err := gpt.NewSampler(backend, s.prior.Model, s.prior.Weights, o)
	if err != nil {
		return nil, err
	}
	defer sampler.Close()
	kept, err := out.open(s.identity(start), s.prior.Model.Layout.Tokens(), s.Force)
	if err != nil {
		return nil, err
	}
	defer out.leave(kept)
	before := kept.Next()
	if before > 0 {
		s.watch.Remark("continuing after %d of %s", before, report.Counted(s.Count, s.prior.noun()))
	}
	line := s.watch.Line(s.Count, s.prior.noun()+"s")
	defer line.Done()
	size := (together + sampler.Together() - 1) / sampler.Together() * sampler.Together()
	for first := before; first < s.Count; first += size {
		rows := make([]gpt.Row, min(size, s.Count-first))
		numbers := make([]int, len(rows))
		for i := range rows {
			numbers[i] = first + i
			rows[i] = gpt.Row{Number: first + i, Start: start, Given: s.upper.codes()}
		}
		codes, err := sampler.Sample(ctx, rows, func(done int) { line.Update(int64(first+done), "drawn") })
		if err != nil {
			return nil, err
		}
		if err := kept.Append(numbers, codes); err != nil {
			return nil, err
		}
		if err := out.drawn(ctx, s, numbers, codes); err != nil {
			return nil, err
		}
	}
	line.Done()
	content, err := out.finish(ctx, s, kept)
	if err != nil {
		return nil, err
	}
	if err := kept.Remove(); err != nil {
		return nil, fmt.Errorf("removing unfinished samples: %w", err)
	}
	took := time.Since(begun).Seconds()
	return &Sampled{Output: s.Output, Count: s.Count, Kept: before, Seconds: took, PerSecond: float64(s.Count-before) / took,
		content: content}, nil
}

// noun is what a row is called.
func (p *Prior) noun() string {
	if p.Manifest.Pixels > 0 {
		return "picture"
	}
	return "row"
}
