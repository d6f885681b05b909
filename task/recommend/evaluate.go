package recommend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// SearchOptions say among which items answers are found, and how.
type SearchOptions struct {
	IDs    string // directory of a later version of the model's IDs, to find added items too
	Search string // index of an indexed kind, see index.New
	Effort int    // how hard an approximate index looks; 0 is its own
}

// check reports options that cannot work with any model.
func (o SearchOptions) check() error {
	if o.Search != "" && !slices.Contains(index.Kinds, o.Search) {
		return usage.Errorf("--search %s: use %s", o.Search, strings.Join(index.Kinds, ", "))
	}
	if o.Effort < 0 {
		return usage.Errorf("--effort %d must not be negative", o.Effort)
	}
	if o.Effort > 0 && (o.Search == "" || o.Search == index.Kinds[0]) {
		return usage.Errorf("--effort %d is for --search ivf or hnsw; an exact search looks at everything", o.Effort)
	}
	return nil
}

// load reads a model, with the items that were added to its catalogue since.
func (o SearchOptions) load(ctx context.Context, dir string, p *Purpose, w task.Watcher) (*Recommender, error) {
	r, err := Load(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	if !r.Config.Kind().Index && (o.Search != "" || o.Effort != 0) {
		return nil, usage.Errorf("--search and --effort are for dual encoders, and this %s is %s: a larger --beam finds more",
			p.Title(), r.Config.Kind().Name)
	}
	switch {
	case r.Catalogue == nil:
		return nil, fmt.Errorf("the model in %s was stored without a catalogue; only a program that has one can use it", dir)
	case o.IDs == "":
		return r, nil
	}
	later, err := catalogue.Open(ctx, o.IDs)
	if err != nil {
		return nil, err
	}
	trained := r.Catalogue.Table
	fitting, err := later.Fitting(trained)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used with %s, which was trained on other IDs: %w; "+
			"give the directory it was trained with, or train again",
			o.IDs, dir, err)
	}
	if left := later.Len() - fitting.Len(); left > 0 && trained.Dense() {
		w.Remark("note: %s of %s cannot be found: dense IDs say nothing about new items; train again", report.Counted(left, "item"), o.IDs)
	} else if left > 0 {
		w.Remark("note: %s of %s cannot be found: so many have the same codes, and %s has numbers for %d; "+
			"train again, with IDs that gritvq ids --spare leaves room in",
			report.Counted(left, "item"), o.IDs, dir, trained.LastVocab())
	}
	r.Catalogue = &catalogue.Catalogue{Table: fitting, Items: later.Items}
	return r, nil
}

// EvalOptions say how a stored model is scored.
type EvalOptions struct {
	Dir    string
	Source Source
	SearchOptions
	Depth   int    // length of the lists; 0 is the kind's own
	Cold    int    // also score the questions whose relevant items occur at most so often in training
	Report  string // page of the scores, .html; may be empty
	Ranks   string // file of every question's ranks and scores; may be empty
	Seen    Seen   // rule for seen items; empty: the model's or the log's own
	Alone   bool   // without references
	Cache   string // directory of the ranks of references; may be empty
	Backend string // see engine.Choose
}

// Evaluation is how a model does on the questions for testing.
type Evaluation struct {
	Questions     int                  `json:"-"`
	ColdQuestions int                  `json:"-"`
	Kind          string               `json:"kind"`
	Items         int                  `json:"items"`
	Depth         int                  `json:"depth"` // of the lists
	Search        string               `json:"search,omitempty"`
	Effort        int                  `json:"effort,omitempty"`
	Scores        []eval.RankingScores `json:"scores"`
	Cold          []eval.RankingScores `json:"cold"`
	ColdAt        int                  `json:"cold_at_most"`
	Protocol      Protocol             `json:"protocol"`
	References    []Reference          `json:"references,omitempty"`
	Below         string               `json:"below_reference,omitempty"` // a warning
	Together      float64              `json:"answers_per_second"`        // when many are asked at once
	Alone         float64              `json:"ms_per_answer"`             // median of one at a time
	Lookup        float64              `json:"ms_per_lookup,omitempty"`   // part of it in an index, if there is one
}

// Evaluate scores a stored model on the questions for testing.
func Evaluate(ctx context.Context, o EvalOptions, w task.Watcher) (*Evaluation, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := o.load(ctx, o.Dir, o.Source.Purpose, w)
	if err != nil {
		return nil, err
	}
	o.Depth = cmp.Or(o.Depth, r.Config.Kind().Depth)
	d, err := o.Source.Open(ctx, r.Catalogue, w)
	if _, lacks := errors.AsType[withoutID](err); lacks && o.IDs != "" {
		err = fmt.Errorf("%w; or train again, if they are in %s and %s has no number for them", err, o.IDs, o.Dir)
	}
	if err != nil {
		return nil, err
	}
	d.setSeen(cmp.Or(o.Seen, r.Manifest.Protocol.Seen))
	if hash := r.Manifest.DataHash; hash != "" && hash != d.Fingerprint {
		w.Remark("note: %s was trained on other data than these (%s, or another part of it): test items may be among its training items",
			o.Dir, r.Manifest.Data)
	}
	return o.score(ctx, r, d, w)
}

// check reports options that cannot work.
func (o EvalOptions) check() error {
	if err := o.SearchOptions.check(); err != nil {
		return err
	}
	if o.Report != "" {
		if err := o.checkReport(); err != nil {
			return err
		}
	}
	if o.Ranks == "" {
		return nil
	}
	flag := o.Source.Purpose.perFlag
	if err := eval.CheckRankingName(o.Ranks); err != nil {
		return usage.Errorf("%s: %w", flag, err)
	}
	if info, err := os.Stat(filepath.Dir(o.Ranks)); err != nil || !info.IsDir() {
		return usage.Errorf("%s %s: there is no directory %s; make it first", flag, o.Ranks, filepath.Dir(o.Ranks))
	}
	model := append(output.Inside(o.Dir, modelFiles...), filepath.Join(o.Dir, IDsDir, catalogue.ParquetFile))
	return output.RefuseInput([]string{o.Ranks}, append(model, o.Source.Paths...)...)
}

// checkReport refuses a page that could not be written, or would replace something else.
func (o EvalOptions) checkReport() error {
	if strings.ToLower(filepath.Ext(o.Report)) != ".html" {
		return usage.Errorf("--report %s: name the page .html", o.Report)
	}
	if info, err := os.Stat(filepath.Dir(o.Report)); err != nil || !info.IsDir() {
		return usage.Errorf("--report %s: there is no directory %s; make it first", o.Report, filepath.Dir(o.Report))
	}
	return output.RefuseInput([]string{o.Report}, o.Source.Paths...)
}

// timedAnswers is the number of answers that are timed one by one.
const timedAnswers = 100

// score ranks the questions for testing and measures times.
func (o EvalOptions) score(ctx context.Context, r *Recommender, d *Dataset, w task.Watcher) (*Evaluation, error) {
	ranker, err := r.ranker(ctx, o.Backend, network.Options{Depth: o.Depth, ExcludeSeen: d.dropsSeen(), Index: o.Search, Effort: o.Effort})
	if err != nil {
		return nil, err
	}
	defer ranker.Close()
	timed := questionsOf(d.Cases(TestPart, timedAnswers))
	if _, err := ranker.Top(ctx, timed, o.Depth); err != nil { // the first answers wait for programs to be compiled
		return nil, err
	}
	begun := time.Now()
	ranking, err := Rank(ctx, ranker, d, TestPart, o.Depth, 0, w)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	alone, lookup, err := timeAnswers(len(timed), ranker, func(i int) error {
		_, err := ranker.Top(ctx, timed[i:i+1], o.Depth)
		return err
	})
	if err != nil {
		return nil, err
	}
	if o.Ranks != "" {
		if err := eval.WriteRanking(o.Ranks, ranking); err != nil {
			return nil, err
		}
	}
	cold, err := ranking.Subset(d.Cold(TestPart, o.Cold))
	if err != nil {
		return nil, err
	}
	e := &Evaluation{Questions: ranking.Len(), ColdQuestions: cold.Len(), Kind: r.Manifest.Kind, Items: r.Catalogue.Len(), Depth: o.Depth,
		Search: o.Search, Effort: o.Effort, Scores: ranking.Means(), ColdAt: o.Cold, Protocol: d.protocol(),
		Together: float64(ranking.Len()) / took.Seconds(), Alone: 1000 * alone.Seconds(), Lookup: 1000 * lookup.Seconds()}
	if cold.Len() > 0 {
		e.Cold = cold.Means()
	}
	if !o.Alone {
		if e.References, err = References(ctx, d, o.Depth, o.Cache, w); err != nil {
			return nil, err
		}
		if err := compare(ranking, e.References); err != nil {
			return nil, err
		}
		e.Below = below(e.References)
	}
	if o.Report == "" {
		return e, nil
	}
	return e, r.writePage(ctx, o.Report, o.Dir, d, TestPart, ranker, e)
}
