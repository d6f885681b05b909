package prior

import (
	"fmt"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/fingerprint"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// Rows are rows of codes with the start token of each: its class, or the one for no
// class.
type Rows struct {
	Starts []int32  // [n]
	Codes  []uint32 // [n, Tokens]
}

// Len is the number of rows.
func (r Rows) Len() int { return len(r.Starts) }

func (r Rows) codes(i int, l gpt.Layout) []uint32 { return r.Codes[i*l.Tokens() : (i+1)*l.Tokens()] }

// add appends row i of others.
func (r *Rows) add(others Rows, i int, l gpt.Layout) {
	r.Starts = append(r.Starts, others.Starts[i])
	r.Codes = append(r.Codes, others.codes(i, l)...)
}

// Dataset holds the rows to learn from and those held out.
type Dataset struct {
	Layout        gpt.Layout
	Height, Width int // of the grid of cells; height 1 for rows that are no grids
	Pixels        int // of a picture; 0 for rows that are none
	Classes       []string
	Train         Rows
	Validation    Rows
	Name          string // of the data, without directories

	vectors [][]float32 // of the codes, for the reference; may be nil
}

// divide makes the rows of several views, such as pictures and mirrored pictures, those
// of the dataset: row i of every view shows the same. A share is held out, as the first
// view shows it; other views of these rows are not used at all, because they would tell
// the model about them.
func (d *Dataset) divide(views []Rows, share float64, seed uint64) {
	train, held := dataset.Split(views[0].Len(), share, seed)
	for i := range held.Len() {
		d.Validation.add(views[0], held.At(i), d.Layout)
	}
	for _, rows := range views {
		for i := range train.Len() {
			d.Train.add(rows, train.At(i), d.Layout)
		}
	}
}

// check refuses rows that do not fit the layout and classes without training rows.
func (d *Dataset) check() error {
	for _, rows := range []Rows{d.Train, d.Validation} {
		if err := d.Layout.Check(rows.Codes); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	if d.Train.Len() == 0 {
		return fmt.Errorf("%s has no rows to learn from", d.Name)
	}
	seen := make([]bool, len(d.Classes)+1)
	for _, start := range d.Train.Starts {
		seen[start] = true
	}
	for class, name := range d.Classes {
		if !seen[class] {
			return fmt.Errorf("class %q is empty: none of its pictures is left to learn from; add some, or remove the class", name)
		}
	}
	return nil
}

// Fingerprint identifies the rows, their order and their classes.
func (d *Dataset) Fingerprint() string {
	h := fingerprint.New()
	for _, k := range d.Layout.Vocab {
		h.Number(uint64(k))
	}
	for _, name := range d.Classes {
		h.Text(name)
	}
	for _, rows := range []Rows{d.Train, d.Validation} {
		h.Number(uint64(rows.Len()))
		for _, start := range rows.Starts {
			h.Number(uint64(start))
		}
		for _, code := range rows.Codes {
			h.Number(uint64(code))
		}
	}
	return h.String()
}

// readRows reads a file of codes whose rows have the given number of levels.
func readRows(path string, levels int) (rows Rows, cells int, fingerprint *[32]byte, err error) {
	f, err := codes.Open(path)
	if err != nil {
		return rows, 0, nil, err
	}
	defer f.Close()
	if f.Len() == 0 {
		return rows, 0, nil, fmt.Errorf("%s has no rows", path)
	}
	if f.Levels()%levels != 0 {
		return rows, 0, nil, fmt.Errorf("the rows of %s have %d codes, which are no cells of %d levels; give the right --levels",
			path, f.Levels(), levels)
	}
	rows = Rows{Starts: make([]int32, f.Len()), Codes: make([]uint32, f.Len()*f.Levels())}
	if err := f.Rows(0, f.Len(), rows.Codes); err != nil {
		return rows, 0, nil, err
	}
	if sum, ok := f.Fingerprint(); ok {
		fingerprint = &sum
	}
	return rows, f.Levels() / levels, fingerprint, nil
}

// vocabulary is the smallest that rows of codes fit into.
func vocabulary(all []uint32, levels int) []int {
	vocab := make([]int, levels)
	for i, code := range all {
		vocab[i%levels] = max(vocab[i%levels], int(code)+1)
	}
	return vocab
}
