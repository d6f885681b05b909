package vq

import (
	"fmt"
	"path"
	"slices"

	"github.com/gritvq/gritvq/internal/phase"
)

// Layout is the arrangement of a quantizer's code positions, part after part. Where
// cells of pictures are coded in phases, each phase has codes of its own: the codes
// that a position uses in a phase are a slot, phase*Positions + position. Without
// phases a slot is a position.
type Layout struct {
	Dim    int   `json:"dim"`              // dimension of the latents
	Parts  int   `json:"parts"`            // slices of the vector quantized side by side
	Levels int   `json:"levels"`           // residual levels of each part
	Vocab  []int `json:"vocab"`            // codes of each position, Parts*Levels of them
	Phases int   `json:"phases,omitempty"` // 2 or 4 for cells in phases, else 0
	Shared bool  `json:"-"`                // the levels of a part share one codebook
	Side   int   `json:"-"`                // of the grid of a picture's cells in training; 0 for vectors
}

// Positions is the number of codes a vector becomes.
func (l Layout) Positions() int { return l.Parts * l.Levels }

// Slots is the number of slots.
func (l Layout) Slots() int { return max(1, l.Phases) * l.Positions() }

// Position is the code position of a slot.
func (l Layout) Position(slot int) int { return slot % l.Positions() }

// PhaseOf returns the phase of a latent of the items seen in training, row by row.
func (l Layout) PhaseOf(row int) int {
	if l.Phases == 0 {
		return 0
	}
	return phase.Of(l.Phases, row/l.Side%l.Side, row%l.Side)
}

// Bounds returns the slice of the vector that a part covers.
func (l Layout) Bounds(part int) (start, end int) {
	return part * l.Dim / l.Parts, (part + 1) * l.Dim / l.Parts
}

// VocabOf returns the codes of each position of the leading levels (0 means all).
func (l Layout) VocabOf(levels int) []int {
	if levels == 0 || levels >= l.Levels {
		return l.Vocab
	}
	var vocab []int
	for part := range l.Parts {
		vocab = append(vocab, l.Vocab[part*l.Levels:part*l.Levels+levels]...)
	}
	return vocab
}

// SlotVocabOf returns the codes of each slot of the leading levels (0 means all).
func (l Layout) SlotVocabOf(levels int) []int {
	return slices.Repeat(l.VocabOf(levels), max(1, l.Phases))
}

// Books lists the slots of every codebook: one, or all levels of a part.
func (l Layout) Books() [][]int {
	var books [][]int
	for slot := range l.Slots() {
		if l.Shared && slot%l.Levels > 0 {
			books[len(books)-1] = append(books[len(books)-1], slot)
		} else {
			books = append(books, []int{slot})
		}
	}
	return books
}

// Path is the directory of a slot's variables below the quantizer's: "level2",
// "part1/level2" of several parts, "phase1/level2" of several phases. Levels that
// share a codebook have the path of the first.
func (l Layout) Path(slot int) string {
	position := l.Position(slot)
	level := position % l.Levels
	if l.Shared {
		level = 0
	}
	dir := levelPath(level)
	if l.Parts > 1 {
		dir = path.Join(partPath(position/l.Levels), dir)
	}
	if l.Phases > 0 {
		dir = path.Join(phasePath(slot/l.Positions()), dir)
	}
	return dir
}

func phasePath(p int) string { return fmt.Sprintf("phase%d", p) }

func levelPath(l int) string { return fmt.Sprintf("level%d", l) }

func partPath(i int) string { return fmt.Sprintf("part%d", i) }

// Prefix is the directory of a quantizer's variables in a model.
const Prefix = "quantizer"

// Variables of a code position, relative to [Layout.Path].
const (
	CodesPath      = "codes"     // raw codes E [K,d]
	FeatureMapPath = "feature/w" // W [d,d] of a transform or of SimVQ

	countsPath        = "state/counts"
	sumsPath          = "state/sums"
	cachePath         = "state/cache"
	cacheGradientPath = "state/cache_gradient"
)

// TrainingOnly says whether a variable is not stored in models: running averages and
// cached codebooks.
func TrainingOnly(variable string) bool {
	dir, name := path.Split(variable)
	return slices.Contains([]string{countsPath, sumsPath, cachePath, cacheGradientPath}, path.Join(path.Base(dir), name))
}
