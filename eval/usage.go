package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Usage counts how often each code of each level was assigned.
type Usage struct {
	counts [][]uint64 // [level][code]
}

// UsageStats describes the use of one level's codes, or the average over levels.
type UsageStats struct {
	Utilization float64 `json:"utilization"` // fraction of codes assigned at least once
	DeadRate    float64 `json:"dead_rate"`   // fraction never assigned
	// EntropyBits is the entropy of the empirical distribution of codes; Perplexity is the
	// number of equally used codes of that entropy. Without tokens both are 0.
	EntropyBits float64 `json:"entropy_bits"`
	Perplexity  float64 `json:"perplexity"`
	// TokensPerCode is the number of tokens divided by the vocabulary. Where it is small,
	// utilization says little: at 1, even uniform use leaves 37 % of the codes unseen.
	TokensPerCode float64 `json:"tokens_per_code"`
}

// NewUsage counts codes of levels with these vocabularies. It fails without levels and on
// a vocabulary below 1.
func NewUsage(vocab []int) (*Usage, error) {
	if len(vocab) == 0 {
		return nil, errors.New("usage needs the vocabulary of at least one level")
	}
	u := &Usage{counts: make([][]uint64, len(vocab))}
	for level, size := range vocab {
		if size < 1 {
			return nil, fmt.Errorf("level %d has a vocabulary of %d: it needs at least 1", level, size)
		}
		u.counts[level] = make([]uint64, size)
	}
	return u, nil
}

// Add counts codes [n, levels]. It fails, and counts nothing, on another number of levels,
// on a part of a row, and on a code outside its level's vocabulary.
func (u *Usage) Add(codes []uint32, levels int) error {
	if levels != len(u.counts) {
		return fmt.Errorf("codes have %d levels, usage counts %d", levels, len(u.counts))
	}
	return u.AddFrom(0, codes, levels)
}

// AddFrom is Add for codes [n, levels] of the levels from first on alone.
func (u *Usage) AddFrom(first int, codes []uint32, levels int) error {
	if levels < 1 || first < 0 || first+levels > len(u.counts) {
		return fmt.Errorf("codes have levels %d to %d, usage counts %d", first, first+levels-1, len(u.counts))
	}
	if len(codes)%levels != 0 {
		return fmt.Errorf("%d codes are not whole rows of %d levels", len(codes), levels)
	}
	for i, code := range codes {
		if size := len(u.counts[first+i%levels]); uint64(code) >= uint64(size) {
			return fmt.Errorf("row %d, level %d: code %d is outside the vocabulary of %d", i/levels, first+i%levels, code, size)
		}
	}
	for i, code := range codes {
		u.counts[first+i%levels][code]++
	}
	return nil
}

// Merge adds the counts of other, which must have the same vocabularies.
func (u *Usage) Merge(other *Usage) error {
	if !slices.EqualFunc(u.counts, other.counts, func(a, b []uint64) bool { return len(a) == len(b) }) {
		return fmt.Errorf("usage of vocabularies %v cannot be merged into usage of %v", other.Vocab(), u.Vocab())
	}
	for level, counts := range other.counts {
		for code, count := range counts {
			u.counts[level][code] += count
		}
	}
	return nil
}

// Vocab returns the number of codes of each level.
func (u *Usage) Vocab() []int {
	vocab := make([]int, len(u.counts))
	for level, counts := range u.counts {
		vocab[level] = len(counts)
	}
	return vocab
}

// Histogram returns a copy of the counts of a level's codes.
func (u *Usage) Histogram(level int) []uint64 { return slices.Clone(u.counts[level]) }

// Level returns the statistics of one level.
func (u *Usage) Level(level int) UsageStats { return StatsOf(u.counts[level]) }

// StatsOf returns the statistics of codes with these counts of assignments.
func StatsOf[T int64 | uint64](counts []T) UsageStats {
	var tokens T
	for _, count := range counts {
		tokens += count
	}
	used, nats := 0, 0.0
	for _, count := range counts {
		if count > 0 {
			used++
			p := float64(count) / float64(tokens)
			nats -= p * math.Log(p)
		}
	}
	vocab := float64(len(counts))
	stats := UsageStats{
		Utilization:   float64(used) / vocab,
		DeadRate:      1 - float64(used)/vocab,
		EntropyBits:   nats / math.Ln2,
		TokensPerCode: float64(tokens) / vocab,
	}
	if used > 0 {
		stats.Perplexity = math.Exp(nats)
	}
	return stats
}

// Mean returns every statistic averaged over the levels.
func (u *Usage) Mean() UsageStats {
	var mean UsageStats
	share := 1 / float64(len(u.counts))
	for level := range u.counts {
		stats := u.Level(level)
		mean.Utilization += share * stats.Utilization
		mean.DeadRate += share * stats.DeadRate
		mean.EntropyBits += share * stats.EntropyBits
		mean.Perplexity += share * stats.Perplexity
		mean.TokensPerCode += share * stats.TokensPerCode
	}
	return mean
}
