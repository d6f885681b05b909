package gpt

import (
	"fmt"
	"math"
)

// Layout says what the tokens of a row are.
type Layout struct {
	Vocab   []int `json:"vocab"`   // codes of each level
	Cells   int   `json:"cells"`   // of a row
	Classes int   `json:"classes"` // of rows; 0 if they have none
}

// Levels is the number of codes of a cell.
func (l Layout) Levels() int { return len(l.Vocab) }

// Tokens is the number of codes of a row.
func (l Layout) Tokens() int { return l.Cells * len(l.Vocab) }

// NoClass is the start token of rows without a class; the classes are numbered before
// it.
func (l Layout) NoClass() int32 { return int32(l.Classes) }

// Validate reports a layout that cannot work.
func (l Layout) Validate() error {
	if len(l.Vocab) == 0 || l.Cells < 1 || l.Classes < 0 {
		return fmt.Errorf("rows of %d cells with codes of %d levels and %d classes cannot be modelled; "+
			"at least one cell and one level are needed", l.Cells, len(l.Vocab), l.Classes)
	}
	all := 0
	for level, codes := range l.Vocab {
		if all += codes; codes < 1 || all > math.MaxInt32 {
			return fmt.Errorf("level %d has %d codes; it needs 1 to %d", level, codes, math.MaxInt32)
		}
	}
	return nil
}

// Check refuses codes [n*Tokens] that are no rows of this layout.
func (l Layout) Check(codes []uint32) error {
	if tokens := l.Tokens(); len(codes)%tokens != 0 {
		return fmt.Errorf("%d codes are no rows of %d", len(codes), tokens)
	}
	for i, code := range codes {
		if level := i % len(l.Vocab); int64(code) >= int64(l.Vocab[level]) {
			return fmt.Errorf("row %d, cell %d, level %d: code %d is outside the vocabulary of %d",
				i/l.Tokens(), i%l.Tokens()/len(l.Vocab), level, code, l.Vocab[level])
		}
	}
	return nil
}

// first is the token of a level's code 0: the levels' codes are numbered one after the
// other.
func (l Layout) first(level int) (first int) {
	for _, codes := range l.Vocab[:level] {
		first += codes
	}
	return first
}
