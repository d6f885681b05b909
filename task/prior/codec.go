package prior

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// Codec predicts the codes of picture files by a prior: a [codes.Predictor]. Grids larger than those of training are covered by
// windows of the trained size that overlap: cells that an earlier window has coded are context in the next.
type Codec struct {
	prior *Prior
	sum   [sha256.Size]byte
	watch task.Watcher
}

// OpenCodec loads the prior in dir for pictures of the tokenizer with a fingerprint, which messages call by its name.
func OpenCodec(dir string, tokenizer [32]byte, name string, w task.Watcher) (*Codec, error) {
	p, err := Load(dir)
	if err != nil {
		return nil, err
	}
	switch m := p.Manifest; {
	case m.Pixels == 0:
		return nil, usage.Errorf("--prior: %s models rows of codes, not pictures; train one with the pictures of %s", dir, name)
	case len(m.Classes) > 0 && p.Config.Model.ClassDropout == 0:
		return nil, usage.Errorf("--prior: %s has always seen classes (model.class_dropout 0), which picture files lack; train one without", dir)
	}
	if err := p.CheckTokenizer(tokenizer, name); err != nil {
		return nil, err
	}
	model, _ := p.Manifest.File(ModelFile)
	return &Codec{prior: p, sum: sha256.Sum256([]byte("codec 1 " + model.SHA256 + " " + p.Manifest.ConfigHash)), watch: w}, nil
}

// Predictor opens the codec of the prior in dir for a tokenizer, see [OpenCodec]; it is nil if dir is empty.
func Predictor(dir string, w task.Watcher) func(tokenizer [32]byte, name string) (codes.Predictor, error) {
	if dir == "" {
		return nil
	}
	return func(tokenizer [32]byte, name string) (codes.Predictor, error) {
		return OpenCodec(dir, tokenizer, name, w)
	}
}

// Identity implements codes.Predictor.
func (c *Codec) Identity() [sha256.Size]byte { return c.sum }

// Machine implements codes.Predictor.
func (c *Codec) Machine() string { return engine.Machine() }

// Levels is the number of codes of a cell.
func (c *Codec) Levels() int { return c.prior.Model.Layout.Levels() }

// Walk implements codes.Predictor. Windows on a diagonal know each other's cells from the diagonals before, so they are coded
// together.
func (c *Codec) Walk(ctx context.Context, grid codes.CodeMap, visit func(at int, weights []uint32) error) error {
	m := c.prior.Manifest
	down, across := windows(grid.Height, m.Height), windows(grid.Width, m.Width)
	coder, err := gpt.NewCoder(c.prior.Model, c.prior.Weights, min(len(down), len(across)))
	if err != nil {
		return err
	}
	defer coder.Close()
	w := walk{grid: grid, width: m.Width, levels: c.Levels(), known: make([]bool, len(grid.Codes)), visit: visit}
	places := min(m.Height, grid.Height) * m.Width * w.levels
	line := c.watch.Line(len(grid.Codes), "codes")
	defer line.Done()
	for diagonal := range len(down) + len(across) - 1 {
		var corners [][2]int
		for i := range down {
			if j := diagonal - i; j >= 0 && j < len(across) {
				corners = append(corners, [2]int{down[i], across[j]})
			}
		}
		for w.corners = range slices.Chunk(corners, coder.Rows()) {
			if err := coder.Walk(ctx, len(w.corners), places, w.code); err != nil {
				return err
			}
			line.Update(int64(w.done), "coded")
		}
	}
	return nil
}

// windows lists the first cells of windows that cover a side, each beginning in the middle of the one before or earlier.
func windows(cells, window int) []int {
	starts := []int{0}
	for last := 0; last+window < cells; {
		last = min(last+max(1, window/2), cells-window)
		starts = append(starts, last)
	}
	return starts
}

// walk is the state of Walk.
type walk struct {
	grid          codes.CodeMap
	width, levels int    // of a window
	known         []bool // codes of the grid that were visited
	corners       [][2]int
	visit         func(at int, weights []uint32) error
	done          int
}

// code visits a place of a window: its code is new, known, or beyond the right side of a small grid, where the last one of the
// row is repeated.
func (w *walk) code(window, place int, weights func() ([]uint32, error)) (uint32, error) {
	cell, level := place/w.levels, place%w.levels
	y, x := w.corners[window][0]+cell/w.width, min(w.corners[window][1]+cell%w.width, w.grid.Width-1)
	at := (y*w.grid.Width+x)*w.levels + level
	if !w.known[at] {
		expected, err := weights()
		if err == nil {
			err = w.visit(at, expected)
		}
		if err != nil {
			return 0, err
		}
		w.known[at] = true
		w.done++
	}
	return w.grid.Codes[at], nil
}
