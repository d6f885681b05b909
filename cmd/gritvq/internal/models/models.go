// Package models holds flags and tables that the commands recommend and retrieve share.
package models

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// TrainFlags are the flags of a command that trains.
type TrainFlags struct {
	recommend.TrainOptions
	recommend.Settings
	flags *pflag.FlagSet
	seen  string
	json  bool
}

// Add adds the flags, with an example of the output and the default batch.
func (o *TrainFlags) Add(cmd *cobra.Command, p *recommend.Purpose, example, batch string) {
	cli.OutputFlag(cmd, &o.Dir, "directory of the "+p.Title(), example)
	f := cmd.Flags()
	o.Purpose, o.flags = p, f
	f.Int("steps", 20000, "training steps at most; without a GPU fewer, if not given")
	f.Int("batch", 0, "examples a step (default "+batch+")")
	f.Uint64("seed", 1, "decides initial weights, the order of the data and dropout")
	starts := "bm25 or none"
	if p == recommend.Recommending {
		starts = "auto, the best on validation; none; transitions, itemknn, ease, popularity; or blend, several of them"
	}
	f.String("prior", "", "classical score that a network starts from: "+starts)
	f.StringVar(&o.File, "config", "", "YAML file of settings, as the config.yaml that training writes")
	f.StringArrayVar(&o.Set, "set", nil, "one setting, such as model.dropout=0.2 (repeatable)")
	if p == recommend.Recommending {
		SeenFlag(cmd, &o.seen, seenOfLog)
	}
	cacheFlag(f, &o.Cache, "directory of references, which eval prints (\"\": none)")
	cli.WorkersFlag(cmd, new(int))
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.Force, "force", false, "overwrite the files in the directory")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
}

// SeenFlag adds the flag --seen, whose value ParseSeen reads.
func SeenFlag(cmd *cobra.Command, into *string, without string) {
	cmd.Flags().StringVar(into, "seen", "", "keep or drop items of the user's history in answers (default: "+without+")")
}

const seenOfLog = "drop, or keep where users of the log take items again"

// Run trains a model and prints its scores; label names the model's directory.
func (o *TrainFlags) Run(ctx context.Context, s *cli.Streams, label string) error {
	settings := o.Settings
	settings.Set = nil
	for _, name := range []string{"steps", "batch", "seed"} {
		if o.flags.Changed(name) {
			settings.Set = append(settings.Set, "train."+name+"="+o.flags.Lookup(name).Value.String())
		}
	}
	if o.flags.Changed("prior") {
		settings.Set = append(settings.Set, "prior="+o.flags.Lookup("prior").Value.String())
	}
	settings.Set = append(settings.Set, o.Set...)
	var err error
	if o.TrainOptions.Config, err = settings.Config(); err != nil {
		return err
	}
	o.TrainOptions.Free = settings.Free()
	if o.Seen, err = recommend.ParseSeen(o.seen); err != nil {
		return err
	}
	o.Command = s.Command
	r, err := recommend.TrainModel(ctx, o.TrainOptions, s)
	if err != nil {
		return err
	}
	if o.json {
		model, _ := r.Manifest.File(recommend.ModelFile)
		return s.WriteJSON(struct {
			recommend.Manifest
			SHA256 string `json:"model_sha256"`
		}{r.Manifest, model.SHA256})
	}
	if err := recommend.ScoreTable("validation", r.Manifest.Validation).Text(s.Out); err != nil {
		return err
	}
	took := time.Duration(r.Manifest.Seconds * float64(time.Second))
	_, err = fmt.Fprintf(s.Out, "\n%-12s %s\n%-12s %s\n", "time:", report.Duration(took), label+":", o.Dir)
	return err
}

// SearchFlags adds the flags that say among which items answers are found, and how.
func SearchFlags(cmd *cobra.Command, o *recommend.SearchOptions) {
	f := cmd.Flags()
	f.StringVar(&o.IDs, "ids", "", "directory of IDs with items that gritvq ids add added since training, to find these too")
	f.StringVar(&o.Search, "search", "", "how a dual encoder finds items: exact, ivf or hnsw (default exact)")
	f.IntVar(&o.Effort, "effort", 0, "lists that ivf searches, or length of hnsw's candidate list (default: the index's own)")
}

// EvalFlags are the flags of a command that scores a model.
type EvalFlags struct {
	recommend.EvalOptions
	JSON bool
	seen string
}

// Add adds the flags that such commands share, after their own, with the names of the references.
func (o *EvalFlags) Add(cmd *cobra.Command, p *recommend.Purpose, references string) {
	f := cmd.Flags()
	if p == recommend.Recommending {
		SeenFlag(cmd, &o.seen, "as in training")
	}
	f.StringVar(&o.Report, "report", "", "page of scores, references, learning curves and examples, such as report.html")
	f.BoolVar(&o.Alone, "no-references", false, "do not score "+references+" beside the model")
	cacheFlag(f, &o.Cache, "directory of references, for the next call (\"\": none)")
	SearchFlags(cmd, &o.SearchOptions)
	cli.WorkersFlag(cmd, new(int))
	cli.JSONFlag(cmd, &o.JSON, "the scores as")
	cli.BackendFlag(cmd, &o.Backend)
}

// cacheFlag adds the flag --cache.
func cacheFlag(f *pflag.FlagSet, into *string, usage string) {
	f.StringVar(into, "cache", referenceDir(), usage)
	f.Lookup("cache").DefValue = "" // it differs between users
}

// referenceDir is the place of the ranks of references, or "" for a user without one.
func referenceDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gritvq", "references")
}

// Evaluate scores the model and warns if a reference is better.
func (o *EvalFlags) Evaluate(ctx context.Context, s *cli.Streams) (*recommend.Evaluation, error) {
	var err error
	if o.Seen, err = recommend.ParseSeen(o.seen); err != nil {
		return nil, err
	}
	e, err := recommend.Evaluate(ctx, o.EvalOptions, s)
	if err == nil && e.Below != "" {
		s.Remark("warning: %s", e.Below)
	}
	return e, err
}

// ShowEvaluation prints scores and times.
func ShowEvaluation(s *cli.Streams, e *recommend.Evaluation, coldTitle string) error {
	if err := recommend.ScoreTable("test", e.Scores).Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n%s\n", e.Protocol)
	if len(e.References) > 0 {
		fmt.Fprintln(s.Out)
		if err := e.ReferenceTable().Text(s.Out); err != nil {
			return err
		}
	}
	if e.Cold != nil {
		fmt.Fprintf(s.Out, "\n%s\n", coldTitle)
		if err := recommend.ScoreTable("cold", e.Cold).Text(s.Out); err != nil {
			return err
		}
	}
	inIndex := ""
	if e.Lookup > 0 {
		inIndex = fmt.Sprintf(", %s of them in the index", report.Number(e.Lookup, 3))
	}
	_, err := fmt.Fprintf(s.Out, "\n%s answers a second together, %s ms for one alone%s\n",
		report.Number(e.Together, 3), report.Number(e.Alone, 3), inIndex)
	return err
}

// AskFlags are the flags of a command that asks a model.
type AskFlags struct {
	recommend.AskOptions
	json bool
	seen string
}

// Add adds the flags that such commands share.
func (o *AskFlags) Add(cmd *cobra.Command, p *recommend.Purpose, count string) {
	o.Purpose = p
	if p == recommend.Recommending {
		SeenFlag(cmd, &o.seen, "as in training")
	}
	cmd.Flags().IntVarP(&o.Count, "count", "k", 10, count)
	SearchFlags(cmd, &o.SearchOptions)
	cli.JSONFlag(cmd, &o.json, "")
	cli.BackendFlag(cmd, &o.Backend)
}

// Run asks the model and prints its answers.
func (o *AskFlags) Run(ctx context.Context, s *cli.Streams) error {
	var err error
	if o.Seen, err = recommend.ParseSeen(o.seen); err != nil {
		return err
	}
	a, err := recommend.Ask(ctx, o.AskOptions, s)
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(a)
	}
	score := report.Column{Name: strings.ReplaceAll(a.Score, "_", " "), Align: report.Right}
	t := report.Table{Columns: []report.Column{{Name: "item"}, score, {Name: "ID"}, {Name: "title"}}}
	for _, item := range a.Items {
		t.Rows = append(t.Rows, report.Cells(item.Item, report.Number(item.Score, 4), strings.Trim(fmt.Sprint(item.ID), "[]"), item.Title))
	}
	if err := t.Text(s.Out); err != nil {
		return err
	}
	s.Remark("%s ms for an answer, once loaded", report.Number(a.Time, 3))
	return nil
}

// RunMany asks for many users and says what was written.
func (o *AskFlags) RunMany(ctx context.Context, s *cli.Streams, many recommend.AskManyOptions) error {
	var err error
	if o.Seen, err = recommend.ParseSeen(o.seen); err != nil {
		return err
	}
	many.AskOptions = o.AskOptions
	a, err := recommend.AskMany(ctx, many, s)
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(a)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s for %s, %s users a second\n", a.Output, report.Counted(a.Answers, "answer"),
		report.Counted(a.Users, "user"), report.Number(float64(a.Users)/a.Seconds, 3))
	return err
}
