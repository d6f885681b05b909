// Package exp compares quantizers: it trains every method on the same data with
// the same bits and budget, scores them on held-out rows, and turns the scores
// of several seeds into tables, charts and files.
//
// The unit of work is a [Cell], one method with one size of code and one seed. A
// [Comparison] runs cells on a [Task], which is vectors or pictures, and keeps
// each as a [Record], so that a comparison that was stopped goes on where it
// was. The task's [Kind] says what its records hold, turns them into ranked
// [Summary] lines and lays these out; [Results] writes them.
package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// scoring is the version of what a record holds: it is part of a cell's
// identity, so that records of another version are not taken for this one's.
const scoring = "gritvq compare 1"

// Point is a size of code: Levels x Parts codes of Codes values each.
type Point struct {
	Codes  int `json:"codes"`
	Levels int `json:"levels"`
	Parts  int `json:"parts"`
}

// Bits is the number of bits of the codes of a vector, or of a cell of a picture.
func (p Point) Bits() float64 { return float64(p.Levels*p.Parts) * math.Log2(float64(p.Codes)) }

// String is "4 x 256", or "2 x 2 x 256" with parts.
func (p Point) String() string {
	text := strconv.Itoa(p.Codes)
	if p.Parts > 1 {
		text = fmt.Sprintf("%d x %s", p.Parts, text)
	}
	if p.Levels > 1 || p.Parts > 1 {
		text = fmt.Sprintf("%d x %s", p.Levels, text)
	}
	return text
}

// PointOfBits chooses a point for the given bits a vector: one part, levels of
// 256 codes where that divides the bits, otherwise of the largest smaller
// codebook down to 16 that does, otherwise of the smallest larger one up to
// 65,536. It fails where none divides them.
func PointOfBits(bits int) (Point, error) {
	for _, each := range []int{8, 7, 6, 5, 4, 9, 10, 11, 12, 13, 14, 15, 16} {
		if bits > 0 && bits%each == 0 {
			return Point{Codes: 1 << each, Levels: bits / each, Parts: 1}, nil
		}
	}
	if bits >= 1 && bits < 4 {
		return Point{Codes: 1 << bits, Levels: 1, Parts: 1}, nil
	}
	return Point{}, fmt.Errorf("%d bits cannot be divided into codes of 4 to 16 bits; use another number such as %d", bits, max(8, bits/8*8))
}

// Cell is one method with one size of code and one seed.
type Cell struct {
	ID     string // of data, settings and seed
	Method string
	Point  Point
	Config vqtrain.Config // its seed included
	// Err says why the method cannot work with the settings; such a cell fails
	// without being run.
	Err error
}

// NewCell identifies the cell of a configuration, for items of input numbers
// with the given fingerprint. invalid is an error found while the configuration
// was made, or nil; settings that do not make a tokenizer are found here.
func NewCell(fingerprint string, input int, p Point, c vqtrain.Config, invalid error) (Cell, error) {
	settings, err := config.Hash(c)
	if err != nil {
		return Cell{}, fmt.Errorf("identifying the settings of %s: %w", c.Quantizer.Method, err)
	}
	sum := sha256.Sum256([]byte(scoring + "\n" + fingerprint + "\n" + settings + "\n" + strconv.FormatUint(c.Seed, 10)))
	cell := Cell{ID: hex.EncodeToString(sum[:10]), Method: c.Quantizer.Method, Point: p, Config: c, Err: invalid}
	if cell.Err == nil {
		_, cell.Err = c.Tokenizer(input)
	}
	return cell, nil
}

// String names the cell for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s, %s, seed %d", c.Method, c.Point, c.Config.Seed)
}

// work is the cell's share of a comparison's cost, in training steps.
func (c Cell) work(steps int) int {
	if vq.Classical(c.Method) {
		return max(1, steps/classicalShare)
	}
	return c.Config.Train.Steps
}

// classicalShare is how much less fitting takes than training, roughly: only
// the estimate of the time left depends on it.
const classicalShare = 6
