package vq

import (
	"fmt"
	"path"
	"slices"
)

// Layout is the arrangement of a quantizer's code positions, part after part.
type Layout struct {
	Dim    int   `json:"dim"`    // dimension of the latents
	Parts  int   `json:"parts"`  // slices of the vector quantized side by side
	Levels int   `json:"levels"` // residual levels of each part
	Vocab  []int `json:"vocab"`  // codes of each position, Parts*Levels of them
	Shared bool  `json:"-"`      // the levels of a part share one codebook
}

// Positions is the number of codes a vector becomes.
func (l Layout) Positions() int { return l.Parts * l.Levels }

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

// Books lists the code positions of every codebook: one, or all levels of a part.
func (l Layout) Books() [][]int {
	var books [][]int
	for position := range l.Positions() {
		if l.Shared && position%l.Levels > 0 {
			books[len(books)-1] = append(books[len(books)-1], position)
		} else {
			books = append(books, []int{position})
		}
	}
	return books
}

// Path is the directory of a code position's variables below the quantizer's:
// "level2", or "part1/level2" of several parts. Levels that share a codebook have
// the path of the first.
func (l Layout) Path(position int) string {
	level := position % l.Levels
	if l.Shared {
		level = 0
	}
	if l.Parts == 1 {
		return levelPath(level)
	}
	return path.Join(partPath(position/l.Levels), levelPath(level))
}

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
