package prior

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/tokenizer"
)

// EvalOptions say how a stored prior is scored.
type EvalOptions struct {
	Dir      string
	Pictures string // to encode with the prior's tokenizer
	Codes    string // file of codes, in place of pictures
	Labels   string // see ReadLabels; rows have no classes if empty
	Workers  int    // threads that read pictures; 0 is all cores
	Backend  string // see engine.Choose
}

// Evaluate scores a stored prior on pictures or on codes.
func Evaluate(ctx context.Context, o EvalOptions, w task.Watcher) (*Scores, error) {
	if (o.Pictures == "") == (o.Codes == "") {
		return nil, usage.Errorf("name pictures, or --codes with a file of codes, one of the two")
	}
	p, err := Load(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Labels != "" && len(p.Manifest.Classes) == 0 {
		return nil, usage.Errorf("--labels: the prior %s was trained without classes; leave it out", o.Dir)
	}
	backend, err := engine.Choose(o.Backend)
	if err != nil {
		return nil, err
	}
	rows, err := o.rows(ctx, p, backend, w)
	if err != nil {
		return nil, err
	}
	scorer, err := gpt.NewScorer(backend, p.Model, p.Weights)
	if err != nil {
		return nil, err
	}
	defer scorer.Close()
	line := w.Line(rows.Len(), "rows")
	defer line.Done()
	return p.score(ctx, scorer, rows, func(done int) { line.Update(int64(done), "scored") })
}

// rows reads or encodes what is to be scored.
func (o EvalOptions) rows(ctx context.Context, p *Prior, backend compute.Backend, w task.Watcher) (rows Rows, err error) {
	var labels *Labels
	if o.Labels != "" {
		if labels, err = ReadLabels(o.Labels); err != nil {
			return rows, err
		}
	}
	var names []string
	if o.Codes != "" {
		rows, err = o.readCodes(p)
		names = rowNames(o.Codes, rows.Len())
	} else {
		rows, names, err = o.encode(ctx, p, backend, w)
	}
	if err != nil {
		return rows, err
	}
	for i := range rows.Starts {
		rows.Starts[i] = p.Model.Layout.NoClass()
	}
	if labels == nil {
		return rows, nil
	}
	classes, err := labels.of(names)
	if err != nil {
		return rows, err
	}
	rows.Starts, err = starts(classes, p.Manifest.Classes)
	return rows, err
}

func (o EvalOptions) readCodes(p *Prior) (Rows, error) {
	layout := p.Model.Layout
	rows, cells, fingerprint, err := readRows(o.Codes, layout.Levels())
	if err != nil {
		return rows, err
	}
	if fingerprint != nil {
		if err := p.CheckTokenizer(*fingerprint, "that of "+o.Codes); err != nil {
			return rows, err
		}
	}
	if cells != layout.Cells {
		return rows, fmt.Errorf("the rows of %s have %d cells, the prior %s models rows of %d; give codes of the same kind",
			o.Codes, cells, o.Dir, layout.Cells)
	}
	if err := layout.Check(rows.Codes); err != nil {
		return rows, fmt.Errorf("%s: %w; give codes of the tokenizer that the prior was trained with", o.Codes, err)
	}
	return rows, nil
}

// encode returns the codes of pictures and their names.
func (o EvalOptions) encode(ctx context.Context, p *Prior, backend compute.Backend, w task.Watcher) (rows Rows, names []string, err error) {
	b, err := p.Tokenizer()
	if err != nil {
		return rows, nil, err
	}
	opened, err := openPictures(ctx, o.Pictures, b, o.Workers, w)
	if err != nil {
		return rows, nil, err
	}
	set := opened.set
	defer set.Close()
	runtime, err := b.Runtime(backend)
	if err != nil {
		return rows, nil, fmt.Errorf("preparing the tokenizer: %w", err)
	}
	defer runtime.Close()
	line := w.Line(set.Len(), "pictures")
	defer line.Done()
	err = runtime.EncodeRows(ctx, set, dataset.All(set.Len()), tokenizer.Options{}, func(c tokenizer.Coded) error {
		line.Update(int64(c.Done), "encoded")
		rows.Codes = append(rows.Codes, c.Codes...)
		for _, row := range c.Rows {
			names = append(names, set.Key(row))
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("none of the %d pictures of %s could be read", set.Len(), o.Pictures)
	}
	rows.Starts = make([]int32, len(names))
	return rows, names, err
}

// score measures the prior and its reference on rows.
func (p *Prior) score(ctx context.Context, scorer *gpt.Scorer, rows Rows, progress func(rows int)) (*Scores, error) {
	s, err := measure(ctx, scorer, p.Model.Layout, rows, p.Manifest.Pixels, progress)
	if err != nil {
		return nil, err
	}
	s.Reference, err = p.Reference.bits(ctx, p.Model.Layout, rows, p.Manifest.Height, p.Manifest.Width)
	return s, err
}
