package catalogue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// Options of Make. The codes are numbers of the items (Dense, Random), or come from a given Tokenizer or from one that is
// trained with Config.
type Options struct {
	Sources   []Source
	Output    string // directory; of several catalogues each has one below it
	Resolve   Resolution
	Spare     int            // smallest vocabulary of the token, so that a trained recommender can name items added later
	Dense     bool           // give every item one code of its own
	Random    bool           // number the items in random codes, see Numbering; Config has levels, codes and seed
	Tokenizer string         // directory of a trained bundle
	Config    vqtrain.Config // of a tokenizer that is trained
	Union     bool           // train one tokenizer for all catalogues instead of one each
	Backend   string
	Resume    bool // continue an interrupted training
	Force     bool // overwrite a table in Output
	Command   string
}

// Methods that package vq does not have: rows of the paper's recommendation table that are no quantizers of their own.
const (
	DenseMethod  = "dense"  // one code of its own for every item
	RandomMethod = "random" // see Numbering; earlier versions called it dense
	SlicedMethod = "vqvae"  // ste over slices of the latent
)

// Methods lists the names of all ways to make IDs.
func Methods() []string {
	names := append(vq.MethodNames(), DenseMethod, RandomMethod, SlicedMethod)
	slices.Sort(names)
	return names
}

// Defaults changes a preset to the settings of IDs. Every item gets an ID, so no
// row is held out; the last third of the preset's steps hardly changes IDs.
func Defaults(c *vqtrain.Config) {
	c.Train.Split, c.Train.Evaluate = 1, 0
	if !vq.Classical(c.Quantizer.Method) {
		c.Train.Steps = 2000
	}
}

type maker struct {
	Options
	watch task.Watcher
	list  []*source
}

// Make gives the items of catalogues IDs. It writes their tables, items and reports, and the tokenizer for Add.
func Make(ctx context.Context, o Options, watch task.Watcher) (result *Result, err error) {
	m := &maker{Options: o, watch: watch}
	if err := m.plan(); err != nil {
		return nil, err
	}
	discard, release, err := m.makeDirectories()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := m.checkOutput(); err != nil { // another run may have ended meanwhile
		return nil, err
	}
	defer func() {
		if err != nil {
			discard()
		}
	}()
	for _, s := range m.list {
		if err := s.read(ctx, watch); err != nil {
			return nil, err
		}
	}
	if !m.plain() {
		if err := embedTitles(ctx, m.list, watch); err != nil {
			return nil, err
		}
		for _, s := range m.list {
			if err := s.addFactors(ctx, watch); err != nil {
				return nil, err
			}
		}
	}
	return m.run(ctx)
}

func (m *maker) run(ctx context.Context) (*Result, error) {
	shared, err := m.sharedTokenizer(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{Output: m.Output, Report: filepath.Join(m.Output, ReportFile)}
	several := len(m.list) > 1
	if several && m.Force {
		if err := kind.Clear(m.Output); err != nil {
			return nil, err
		}
	}
	for i, s := range m.list {
		encoder := shared
		switch {
		case m.Dense:
			encoder = &denseEncoder{}
		case m.Random:
			encoder = m.random(i)
		case shared == nil:
			if several {
				m.watch.Remark("%s:", s.Name)
			}
			if encoder, err = m.train(ctx, s.dir, s.vectors); err != nil {
				return nil, err
			}
		}
		summary, err := m.tabulate(ctx, s, encoder)
		if err != nil {
			return nil, err
		}
		s.values = nil
		r.Catalogues = append(r.Catalogues, *summary)
	}
	if several {
		err = m.finishUnion(r, shared)
	}
	return r, err
}

// sharedTokenizer is nil if each catalogue has its own.
func (m *maker) sharedTokenizer(ctx context.Context) (itemEncoder, error) {
	switch {
	case m.plain():
		return nil, nil
	case m.Tokenizer != "":
		return openTokenizer(m.Tokenizer, m.Backend)
	case !m.Union || len(m.list) == 1:
		return nil, nil
	}
	joined := filepath.Join(m.Output, unionVectors)
	if err := joinVectors(m.list, joined); err != nil {
		return nil, err
	}
	defer os.Remove(joined)
	return m.train(ctx, m.Output, joined)
}

func (m *maker) train(ctx context.Context, dir, vectors string) (itemEncoder, error) {
	own := filepath.Join(dir, TokenizerDir)
	state, err := bundle.Kind.State(own)
	if err != nil {
		return nil, err
	}
	if state != artifact.Absent && !m.Resume && !m.Force {
		return nil, fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", dir)
	}
	if m.Force && !m.Resume {
		// Train replaces the tokenizer, without which a table could not be added to.
		if err := kind.Clear(dir); err != nil {
			return nil, err
		}
	}
	_, err = tokenize.Train(ctx, tokenize.TrainOptions{
		Config: m.Config, Input: tokenize.Input{Path: vectors}, Output: own, Backend: m.Backend,
		Resume: m.Resume, Force: !m.Resume, Command: m.Command,
	}, m.watch)
	if err != nil {
		return nil, err
	}
	return openTokenizer(own, m.Backend)
}

// plain says that IDs do not depend on what items are like.
func (m *maker) plain() bool { return m.Dense || m.Random }

func (m *maker) random(i int) itemEncoder {
	q := m.Config.Quantizer
	return randomEncoder{Numbering{Seed: m.Config.Seed, Stream: i, Streams: len(m.list)}, slices.Repeat([]int{q.Codes}, q.Levels*q.Parts)}
}

func (m *maker) tabulate(ctx context.Context, s *source, encoder itemEncoder) (*Summary, error) {
	codes, distances, err := encoder.encode(ctx, s, 0, m.Resolve == Reassign || m.Resolve == Sinkhorn)
	if err != nil {
		return nil, err
	}
	from := encoder.origin()
	table, err := Build(codes, from.vocab, s.keys(), BuildOptions{m.Resolve, distances, m.Spare, from.identity})
	if err != nil {
		return nil, err
	}
	if m.Force {
		if err := kind.Clear(s.dir); err != nil {
			return nil, err
		}
	}
	if err := encoder.store(s.dir); err != nil {
		return nil, err
	}
	table.taken = s.taken
	return save(s.dir, table, s.items, from, m.Command)
}

// save writes the table last: items without IDs do no harm, IDs without items would.
func save(dir string, table *Table, items []interactions.Item, from origin, command string) (*Summary, error) {
	list, err := interactions.NewCatalogue(items)
	if err != nil {
		return nil, err
	}
	content, err := encodeItems(items)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{Table: table, Items: list, dir: dir}
	if err := c.writeReport(from, command); err != nil {
		return nil, err
	}
	table.SetProvenance(artifact.Provenance(version.CreatedBy(), command))
	return c.summarize(from), table.save(dir, content)
}
