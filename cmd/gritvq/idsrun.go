package main

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/tokenize"
)

func runIDs(ctx context.Context, s *cli.Streams, o idsOptions) error {
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	if err := o.chooseMethod(); err != nil {
		return err
	}
	sources, err := o.sources()
	if err != nil {
		return err
	}
	run := catalogue.Options{
		Sources: sources, Output: o.output, Resolve: catalogue.Resolution(o.resolve), Spare: o.spare, Tokenizer: o.tokenizer,
		Each: o.each, Backend: o.backend, Resume: o.resume, Force: o.force, Command: s.Command,
	}
	catalogue.Describe = tokenize.Describe
	run.Train = func(ctx context.Context, input, output string) error {
		config, err := o.layers.Config()
		if err != nil {
			return err
		}
		_, err = tokenize.Train(ctx, tokenize.TrainOptions{Config: config, Input: tokenize.Input{Path: input}, Output: output, Backend: o.backend,
			Resume: o.resume, Force: !o.resume, Command: s.Command}, s)
		return o.layers.Explain(err)
	}
	if o.dense {
		run.Dense = &catalogue.Dense{Seed: o.settings.Seed(), Levels: o.settings.Int("levels") * o.settings.Int("parts"), Codes: o.settings.Int("codes")}
	}
	r, err := catalogue.Make(ctx, run, s)
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		return printSummary(s, &r.Catalogues[0], o.json)
	}
	if o.json {
		return s.WriteJSON(r)
	}
	if err := r.Table().Text(s.Out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "\nreport: %s\n", r.Report)
	return err
}

// sources joins the embeddings with --items and --name.
func (o idsOptions) sources() ([]catalogue.Source, error) {
	count := report.Counted(len(o.inputs), "catalogue")
	switch n := len(o.inputs); {
	case len(o.items) > 0 && len(o.items) != n:
		return nil, usage.Errorf("%s and %d of --items: give one a catalogue, or none", count, len(o.items))
	case n == 1 && (len(o.names) > 0 || o.each):
		return nil, usage.Errorf("--name and --each are for several catalogues; there is one")
	case len(o.names) > 0 && len(o.names) != n:
		return nil, usage.Errorf("%s and %d of --name: give one a catalogue", count, len(o.names))
	}
	list := make([]catalogue.Source, len(o.inputs))
	for i, input := range o.inputs {
		list[i].Input = input
		if len(o.items) > 0 {
			list[i].Items = o.items[i]
		}
		if len(o.names) > 0 {
			list[i].Name = o.names[i]
		}
	}
	return list, nil
}

func runIDsAdd(ctx context.Context, s *cli.Streams, o idsAddOptions) error {
	catalogue.Describe = tokenize.Describe
	summary, err := catalogue.Add(ctx, catalogue.AddOptions{
		Dir: o.dir, Source: catalogue.Source{Input: o.input, Items: o.items}, Backend: o.backend, Command: s.Command,
	}, s)
	if err != nil {
		return err
	}
	return printSummary(s, summary, o.json)
}

// crowded is the collision rate above which IDs say little about their items.
const crowded = 0.5

// printSummary prints how a table uses its codes.
func printSummary(s *cli.Streams, r *catalogue.Summary, asJSON bool) error {
	if asJSON {
		return s.WriteJSON(r)
	}
	if err := r.Table().Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n%s: %s, version %d\ncollision rate: %s before, %s after; %s of the items share their codes, at most %d the same\nreport: %s\n",
		r.Output, report.Counted(r.Items, "item"), r.Version, report.Percent(r.Before, 2), report.Percent(r.After, 2),
		report.Percent(r.Stats.Before.Sharing, 2), r.Largest, r.Report)
	if r.Before > crowded {
		s.Remark("note: %s of the items share their codes, which say little then; more --codes or --levels tell items apart, "+
			"if their embeddings do", report.Percent(r.Stats.Before.Sharing, 0))
	}
	if r.After > 0 {
		s.Remark("%s of the items share an ID: no last code was free; --resolve token tells them apart, more codes or levels keep them so",
			report.Percent(r.Stats.After.Sharing, 2))
	}
	return nil
}
