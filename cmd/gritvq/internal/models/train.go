// Package models holds what the commands recommend and retrieve share: flags, and
// how results are printed.
package models

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// TrainFlags are the flags of a command that trains.
type TrainFlags struct {
	recommend.TrainOptions
	recommend.Settings
	steps   int
	batch   int
	seed    uint64
	workers int
	json    bool
	given   func(flag string) bool
}

// Add adds the flags to a command.
func (o *TrainFlags) Add(cmd *cobra.Command, p *recommend.Purpose, batch string) {
	cli.OutputFlag(cmd, &o.Dir, "directory of the "+p.Title())
	f := cmd.Flags()
	o.Purpose, o.given = p, f.Changed
	f.IntVar(&o.steps, "steps", 20000, "training steps at most")
	f.IntVar(&o.batch, "batch", 0, "examples a step (default "+batch+")")
	f.Uint64Var(&o.seed, "seed", 1, "decides initial weights, the order of the data and dropout")
	f.StringVar(&o.File, "config", "", "YAML file of settings, as the config.yaml that training writes")
	f.StringArrayVar(&o.Set, "set", nil, "one setting, such as model.dropout=0.2 (repeatable)")
	cli.WorkersFlag(cmd, &o.workers)
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.Force, "force", false, "replace what is in the directory")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
}

// Run trains a model and prints its scores; label names the model's directory.
func (o *TrainFlags) Run(ctx context.Context, s *cli.Streams, label string) error {
	var given []string
	for _, setting := range []struct {
		name  string
		value any
	}{{"steps", o.steps}, {"batch", o.batch}, {"seed", o.seed}} {
		if o.given(setting.name) {
			given = append(given, fmt.Sprintf("train.%s=%d", setting.name, setting.value))
		}
	}
	settings := o.Settings
	settings.Set = append(given, o.Set...)
	var err error
	if o.TrainOptions.Config, err = settings.Config(); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
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
	if err := rankingTable("validation", r.Manifest.Validation).Text(s.Out); err != nil {
		return err
	}
	took := time.Duration(r.Manifest.Seconds * float64(time.Second))
	_, err = fmt.Fprintf(s.Out, "\n%-12s %s\n%-12s %s\n", "time:", report.Duration(took), label+":", o.Dir)
	return err
}

// rankingTable shows scores by cutoff.
func rankingTable(name string, scores []eval.RankingScores) report.Table {
	t := report.Table{Columns: []report.Column{
		{Name: name}, {Name: "recall", Align: report.Right}, {Name: "NDCG", Align: report.Right}, {Name: "MRR", Align: report.Right}}}
	for _, r := range scores {
		t.Rows = append(t.Rows, report.Cells(
			fmt.Sprintf("@%d", r.K), report.Number(r.Recall, 4), report.Number(r.NDCG, 4), report.Number(r.MRR, 4)))
	}
	return t
}

// Help prints the help of a command that only has subcommands.
func Help(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return cli.UnknownCommand(cmd, args[0])
}
