package codes

import (
	"context"
	"fmt"
	"math"
)

// CodeMap holds the codes of a picture.
type CodeMap struct {
	Height, Width int
	Codes         []uint32 // [Height, Width, levels]
}

// check fails unless g is a grid of codes of vocab.
func (g CodeMap) check(vocab []uint32) error {
	if g.Height <= 0 || g.Width <= 0 || g.Height > MaxPictureCodes/g.Width/len(vocab) {
		return fmt.Errorf("%d x %d cells of %d codes are no grid of 1 to %d codes", g.Width, g.Height, len(vocab), MaxPictureCodes)
	}
	if want := g.Height * g.Width * len(vocab); len(g.Codes) != want {
		return fmt.Errorf("%d x %d cells of %d codes need %d codes, not %d", g.Width, g.Height, len(vocab), want, len(g.Codes))
	}
	for i, code := range g.Codes {
		if level := i % len(vocab); code >= vocab[level] {
			cell := i / len(vocab)
			return fmt.Errorf("row %d, column %d, level %d: code %d is outside the vocabulary of %d",
				cell/g.Width, cell%g.Width, level, code, vocab[level])
		}
	}
	return nil
}

// Train learns a model from the codes of pictures, usually the tokenizer's
// training pictures. Vocab is the number of codes of each level; vectors are the
// code vectors [K,d] of each level, where d may differ. Where cells have codes in 2
// or 4 phases, vectors are those of all levels of a phase, phase after phase. The
// model depends on the arguments alone. Pictures of a few million codes take seconds.
//
// It fails on arguments that do not fit each other and when ctx ends.
func Train(ctx context.Context, grids []CodeMap, vocab []uint32, vectors [][]float32) (*Model, error) {
	if err := checkVocab(vocab); err != nil {
		return nil, err
	}
	m := &Model{phases: len(vectors) / len(vocab)}
	if ownSteps[m.phases] == ([4]step{}) || len(vectors) != m.phases*len(vocab) {
		return nil, fmt.Errorf("a model of %d levels needs code vectors of each, not of %d", len(vocab), len(vectors))
	}
	m.perPhase = len(vocab)
	for i, g := range grids {
		if err := g.check(vocab); err != nil {
			return nil, fmt.Errorf("training grid %d: %w", i, err)
		}
	}
	planes := make([][]plane, len(vectors)) // of all grids
	for _, g := range grids {
		for i, p := range g.planes(m.phases) {
			planes[i] = append(planes[i], p)
		}
	}
	for i := range vectors {
		level := i % len(vocab)
		if err := m.trainLevel(ctx, planes[i], int(vocab[level]), vectors[i]); err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
	}
	m.seal()
	return m, nil
}

// trainLevel adds a level with the given planes.
func (m *Model) trainLevel(ctx context.Context, planes []plane, vocab int, vectors []float32) error {
	counts := make([]uint64, vocab)
	for _, g := range planes {
		for at := range g.all() {
			counts[g.codes[at]]++
		}
	}
	level := &levelModel{counts: storedCounts(counts), weights: make([]mixWeights, maxDepth)}
	var width int
	var err error
	if level.vectors, width, err = shortVectors(vectors, level.counts); err != nil {
		return err
	}
	level.tree = buildTree(level.vectors, width, level.counts)
	fineCells, coarseCells := level.derive()
	for i := range level.weights {
		level.weights[i] = firstWeights
	}
	m.levels = append(m.levels, level)
	m.fitRegression(planes)

	l := newLearner(fineCells, coarseCells)
	for _, g := range planes {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the training of a model of codes stopped: %w", err)
		}
		c := newContextCoder(m, g)
		c.learner, c.slowness, c.weights = l, trainingSlowness, level.weights
		for y := range g.height {
			c.codeRow(unheard{}, y)
		}
	}
	l.finish(level)
	return nil
}

// firstWeights trusts the decision's own counts, and the contexts a little.
var firstWeights = mixWeights{mixOne, mixOne / 3, mixOne / 3, mixOne / 3, mixOne / 3, mixOne / 3, mixOne / 3, 0}

// unheard lets codes pass without writing them.
type unheard struct{}

func (unheard) bit(bit, _ uint32) uint32 { return bit }

// learner counts decisions by context. Every decision is predicted from earlier
// ones only, so the weights of the mix are learned on predictions of unseen
// decisions and generalise to new pictures.
type learner struct {
	seen [learnedContexts][]tally
}

type tally struct{ ones, total uint32 }

func newLearner(fineCells, coarseCells int) *learner {
	l := &learner{}
	for context := range l.seen {
		if context == placeContext || context == predictedContext {
			l.seen[context] = make([]tally, coarseCells)
		} else {
			l.seen[context] = make([]tally, fineCells)
		}
	}
	return l
}

func (l *learner) opinions(opinions *[mixInputs]int32, cells *[learnedContexts]uint32, d *decision) {
	for context, cell := range cells {
		t := l.seen[context][cell]
		opinions[contextOpinions+context] = estimate(t.ones, t.total, d)
	}
}

func (l *learner) count(cells *[learnedContexts]uint32, bit uint32) {
	for context, cell := range cells {
		t := &l.seen[context][cell]
		t.ones += bit
		t.total++
	}
}

// finish stores the opinions that the counts amount to.
func (l *learner) finish(level *levelModel) {
	for context, seen := range l.seen {
		table := make([]int8, len(seen))
		for i := range level.decisions {
			d := &level.decisions[i]
			base, end := d.fineBase, d.fineBase+1<<d.fine+1
			if context == placeContext || context == predictedContext {
				base, end = d.coarseBase, d.coarseBase+1<<d.coarse
			}
			for cell := base; cell < end; cell++ {
				opinion := float64(estimate(seen[cell].ones, seen[cell].total, d)) / opinionUnit
				table[cell] = int8(max(math.MinInt8, min(math.Round(opinion), math.MaxInt8)))
			}
		}
		level.tables[context] = table
	}
}
