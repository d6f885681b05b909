package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/task/catalogue"
)

func runIDs(ctx context.Context, s *cli.Streams, o idsOptions) (err error) {
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	if m := catalogue.Resolution(o.resolve); m != catalogue.Token && m != catalogue.Reassign {
		return usage.Errorf("--resolve %s: use token or reassign", o.resolve)
	}
	if o.spare < 0 || o.spare > 0 && catalogue.Resolution(o.resolve) != catalogue.Token {
		return usage.Errorf("--spare %d: use 0 or more, and only with --resolve token", o.spare)
	}
	if err := o.chooseMethod(); err != nil {
		return err
	}
	list, err := o.catalogues()
	if err != nil {
		return err
	}
	if err := o.check(list); err != nil {
		return err
	}
	discard, err := makeDirectories(o.output, list)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			discard()
		}
	}()
	for _, c := range list {
		if err := c.read(ctx, s); err != nil {
			return err
		}
	}
	if !o.dense {
		if err := embedTitles(s, list); err != nil {
			return err
		}
	}
	if len(list) > 1 {
		return o.runUnion(ctx, s, list)
	}
	only := list[0]
	k, err := o.coder(ctx, s, only.dir, only.vectors)
	if err != nil {
		return err
	}
	table, err := o.tabulate(ctx, only, k, s.Command)
	if err != nil {
		return err
	}
	return showIDs(s, o.json, only.dir, k, table, table.Len())
}

// idsFiles are the files of a directory of IDs, and idsPassing those that come
// before them: a run that was killed early leaves nothing else.
var (
	idsFiles   = []string{catalogue.ManifestFile, catalogue.UnionFile, catalogue.ParquetFile, catalogue.JSONLFile, idsItems, idsReport}
	idsPassing = []string{idsTextEncoder, idsVectors, shopVectors, unionVectors}
)

// check refuses directories that hold something which nobody asked to replace.
func (o idsOptions) check(list []*itemSource) error {
	for _, marker := range []string{catalogue.ManifestFile, catalogue.UnionFile} {
		if output.Present(filepath.Join(o.output, marker)) && !o.force {
			return fmt.Errorf("%s holds a finished table; choose another directory, --force to replace it, or gritvq ids add for new items", o.output)
		}
	}
	dirs, inputs, begun := directories(o.output, list), append(slices.Clone(o.inputs), o.items...), o.force
	for _, dir := range dirs {
		if err := output.RefuseInput(output.Inside(dir, slices.Concat(idsFiles, idsPassing)...), inputs...); err != nil {
			return err
		}
		begun = begun || output.Present(filepath.Join(dir, idsTokenizer)) || output.Present(filepath.Join(dir, catalogue.ManifestFile))
	}
	for _, dir := range dirs {
		if begun {
			break
		}
		if err := output.RefuseForeign(dir, "table of IDs", idsFiles...); err != nil {
			return err
		}
	}
	return nil
}

// directories are that of all IDs and those of the catalogues, each once.
func directories(output string, list []*itemSource) []string {
	dirs := []string{output}
	for _, c := range list {
		if c.dir != output {
			dirs = append(dirs, c.dir)
		}
	}
	return dirs
}

// catalogues lists the inputs, with the directories of their tables.
func (o idsOptions) catalogues() ([]*itemSource, error) {
	if len(o.items) > 0 && len(o.items) != len(o.inputs) {
		return nil, usage.Errorf("%s and %d of --items: give one a catalogue, or none", report.Counted(len(o.inputs), "catalogue"), len(o.items))
	}
	if len(o.inputs) == 1 {
		if len(o.names) > 0 || o.each {
			return nil, usage.Errorf("--name and --each are for several catalogues; there is one")
		}
		return []*itemSource{{dir: o.output, input: o.inputs[0], itemsAt: strings.Join(o.items, "")}}, nil
	}
	names := o.names
	if len(names) == 0 {
		names = catalogueNames(o.inputs)
	}
	if len(names) != len(o.inputs) {
		return nil, usage.Errorf("%s and %d of --name: give one a catalogue", report.Counted(len(o.inputs), "catalogue"), len(names))
	}
	if err := catalogue.CheckNames(append(slices.Clone(names), idsTokenizer)); err != nil {
		return nil, usage.Errorf("%w; use --name, once a catalogue", err)
	}
	var list []*itemSource
	for i, input := range o.inputs {
		c := &itemSource{name: names[i], dir: filepath.Join(o.output, names[i]), input: input}
		if len(o.items) > 0 {
			c.itemsAt = o.items[i]
		}
		list = append(list, c)
	}
	return list, nil
}

// catalogueNames calls catalogues after their files or, where these are called
// alike, the directories they are in.
func catalogueNames(inputs []string) []string {
	stems, parents := make([]string, len(inputs)), make([]string, len(inputs))
	for i, input := range inputs {
		if dataset.KindOf(input) == dataset.Shop {
			stems[i], parents[i] = "shop", "shop"
			continue
		}
		base := filepath.Base(input)
		stems[i] = strings.TrimSuffix(base, filepath.Ext(base))
		if absolute, err := filepath.Abs(input); err == nil {
			parents[i] = filepath.Base(filepath.Dir(absolute))
		}
	}
	if catalogue.CheckNames(stems) != nil {
		return parents
	}
	return stems
}

// makeDirectories makes those of the tables. The returned function removes what
// came into them since, but for what a run goes on from or cannot make anew.
func makeDirectories(root string, list []*itemSource) (discard func(), err error) {
	var made, fresh []string
	discard = func() {
		for _, path := range fresh {
			os.Remove(path)
		}
		for _, dir := range slices.Backward(made) {
			os.Remove(dir) // only if empty
		}
	}
	for _, dir := range directories(root, list) {
		for _, name := range idsPassing {
			if path := filepath.Join(dir, name); !output.Present(path) {
				fresh = append(fresh, path)
			}
		}
		_, missing := os.Stat(dir)
		if err := output.MakeDir(dir); err != nil {
			discard()
			return nil, err
		}
		if missing != nil {
			made = append(made, dir)
		}
	}
	return discard, nil
}

// coder returns what codes the items: a numbering, a given tokenizer, or one
// that is trained on the embeddings, in dir.
func (o idsOptions) coder(ctx context.Context, s *cli.Streams, dir, vectors string) (coder, error) {
	if o.dense {
		return o.numbering(0, 1)
	}
	if o.tokenizer != "" {
		return openLearned(o.tokenizer, o.backend)
	}
	own := filepath.Join(dir, idsTokenizer)
	state, err := bundle.Kind.State(own)
	if err != nil {
		return nil, err
	}
	if state != artifact.Absent && !o.resume && !o.force {
		return nil, fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", dir)
	}
	if o.force && !o.resume {
		// Without its tokenizer a table could not be added to: from here on the
		// directory is an unfinished one, and nothing in it is gone on with.
		if err := catalogue.Clear(dir); err != nil {
			return nil, err
		}
		if state != artifact.Absent {
			if err := bundle.Clear(own); err != nil {
				return nil, err
			}
		}
	}
	train := trainOptions{settings: o.settings, input: vectors, output: own, backend: o.backend, workers: o.workers, resume: o.resume, force: !o.resume}
	quiet := &cli.Streams{Out: io.Discard, Err: s.Err, Terminal: s.Terminal, Command: s.Command}
	if err := runTrain(ctx, quiet, train); err != nil {
		return nil, err
	}
	return openLearned(own, o.backend)
}

// numbering is the coder of dense IDs, for one of several catalogues.
func (o idsOptions) numbering(stream, streams int) (coder, error) {
	levels, codes := o.settings.levels*o.settings.parts, o.settings.codes
	if levels < 1 || codes < 2 {
		return nil, usage.Errorf("--levels %d --codes %d: use at least 1 and 2", levels, codes)
	}
	return numbered{catalogue.Numbering{Seed: o.settings.seed, Stream: stream, Streams: streams}, slices.Repeat([]int{codes}, levels)}, nil
}

// tabulate gives a catalogue its IDs and stores them with all that belongs to
// them. The table comes last.
func (o idsOptions) tabulate(ctx context.Context, c *itemSource, k coder, command string) (*catalogue.Table, error) {
	codes, err := k.codes(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	options := catalogue.BuildOptions{Resolve: catalogue.Resolution(o.resolve), TokenVocab: o.spare, Tokenizer: k.identity()}
	if options.Resolve == catalogue.Reassign {
		if options.Ranked, err = k.ranked(ctx, c); err != nil {
			return nil, err
		}
	}
	table, err := catalogue.Build(codes, k.vocab(), c.keys(), options)
	if err != nil {
		return nil, err
	}
	if o.force {
		if err := catalogue.Clear(c.dir); err != nil {
			return nil, err
		}
	}
	if err := k.store(c.dir); err != nil {
		return nil, err
	}
	if err := catalogue.WriteItems(c.dir, c.items); err != nil {
		return nil, err
	}
	if err := writeIDsReport(c.dir, table, c.items, k, command); err != nil {
		return nil, err
	}
	return table, table.Save(c.dir, "")
}
