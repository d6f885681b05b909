package tokenize

import (
	"fmt"
	"math"
	"os"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
)

// Result describes a written file: as a line of text, and as JSON.
type Result interface{ String() string }

// Written describes a file of rows.
type Written struct {
	Output  string `json:"output"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"` // codes or numbers a row
	Dropped int    `json:"dropped_rows"`
	Bytes   int64  `json:"bytes"`

	values string // the values of a row, such as "codes"
	size   int    // side of decoded pictures
}

// written describes the file at path.
func written(path string, rows, columns, dropped int, values string) Written {
	w := Written{Output: path, Rows: rows, Columns: columns, Dropped: dropped, values: values}
	if info, err := os.Stat(path); err == nil {
		w.Bytes = info.Size()
	}
	return w
}

func (w Written) String() string {
	content := fmt.Sprintf("%s rows of %d %s", report.Count(w.Rows), w.Columns, w.values)
	if w.size > 0 {
		content = fmt.Sprintf("%s of %d x %d pixels", report.Counted(w.Rows, "picture"), w.size, w.size)
	}
	return fmt.Sprintf("%s: %s, %sB", w.Output, content, report.Short(float64(w.Bytes), 3))
}

// CodedPicture describes the file of one encoded picture.
type CodedPicture struct {
	Output       string  `json:"output"`
	Width        int     `json:"width"`
	Height       int     `json:"height"`
	Codes        int     `json:"codes"`
	Bytes        int64   `json:"bytes"`
	BitsPerPixel float64 `json:"bits_per_pixel"`
	PlainBits    float64 `json:"plain_bits_per_pixel"` // without entropy coding

	cell int // side of a code's cell
}

// codedPicture describes the file of a grid of codes.
func codedPicture(o EncodeOptions, t *Opened, grid picture.Grid) (Result, error) {
	info, err := os.Stat(o.Output)
	if err != nil {
		return nil, fmt.Errorf("reading back the result: %w", err)
	}
	plain := 0.0 // bits of a cell
	for _, k := range t.Bundle.Tokenizer.Quantizer.Layout().VocabOf(o.Levels) {
		plain += math.Log2(float64(k))
	}
	pixels := float64(grid.Width) * float64(grid.Height)
	return CodedPicture{Output: o.Output, Width: grid.Width, Height: grid.Height, Codes: len(grid.Codes), Bytes: info.Size(),
		BitsPerPixel: 8 * float64(info.Size()) / pixels, PlainBits: plain * float64(grid.GridWidth*grid.GridHeight) / pixels,
		cell: t.Bundle.Tokenizer.Spec.Model.Image.Down()}, nil
}

func (p CodedPicture) String() string {
	return fmt.Sprintf("%s: %d x %d pixels as %s codes of %d x %d pixels, %sB, %s bits per pixel", p.Output, p.Width, p.Height,
		report.Count(p.Codes), p.cell, p.cell, report.Short(float64(p.Bytes), 3), report.Number(p.BitsPerPixel, 3))
}

// Drawn describes a picture file.
type Drawn struct {
	Output string `json:"output"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

func (d Drawn) String() string { return fmt.Sprintf("%s: %d x %d pixels", d.Output, d.Width, d.Height) }
