package tokenize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// Opened is a trained tokenizer on an engine.
type Opened struct {
	Bundle  *bundle.Bundle
	Runtime *tokenizer.Runtime
	Backend compute.Backend

	dir string
}

// Open loads a tokenizer onto the engine of a --backend value.
func Open(dir, backend string) (*Opened, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, err
	}
	e, err := engine.Choose(backend)
	if err != nil {
		return nil, err
	}
	r, err := b.Runtime(e)
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", dir, err)
	}
	return &Opened{b, r, e, dir}, nil
}

func (t *Opened) pictures() bool { return t.Bundle.Tokenizer.Modality().Kind() == dataset.Pictures }

// files stores pictures with the tokenizer's own model of codes or, if open is not nil, another predictor.
func (t *Opened) files(open OpenPredictor) (f picture.Files, err error) {
	f = picture.Files{Tokenizer: t.Bundle.Tokenizer, Fingerprint: t.Bundle.Manifest.Fingerprint(), Entropy: t.Bundle.Entropy}
	if open != nil {
		f.Predictor, err = open(f.Fingerprint, t.dir)
	}
	return f, err
}

// CodingOptions name a tokenizer and the data that it encodes.
type CodingOptions struct {
	Dir     string // of the tokenizer
	Input   string // vectors or pictures
	Backend string // see [engine.Choose]
	Levels  int    // 0 is all
	Beam    int    // 0 is the method's own
	Curve   bool   // score the curve through the codes too, see [vq.Curve]
	Drop    bool   // leave out vectors with NaN or Inf
	Workers int    // threads that read pictures; 0 is all cores
}

func (o CodingOptions) runtime() tokenizer.Options {
	return tokenizer.Options{Levels: o.Levels, Beam: o.Beam, Curve: o.Curve}
}

// open opens the tokenizer and checks options and kind of input against it.
func (o CodingOptions) open() (*Opened, error) {
	t, err := Open(o.Dir, o.Backend)
	if err != nil {
		return nil, err
	}
	if have := t.Bundle.Manifest.Layout.Levels; o.Levels < 0 || o.Levels > have {
		return nil, usage.Errorf("--levels %d: the tokenizer has levels 1 to %d", o.Levels, have)
	}
	if o.Beam < 0 {
		return nil, usage.Errorf("--beam %d must be at least 1, or 0 for the method's own", o.Beam)
	}
	switch pictures := dataset.KindOf(o.Input).IsPictures(); {
	case t.pictures() && !pictures:
		if _, err := os.Stat(o.Input); errors.Is(err, fs.ErrNotExist) && !dataset.IsSynthetic(o.Input) {
			return nil, fmt.Errorf("cannot read %s: %w; check the path", o.Input, fs.ErrNotExist)
		}
		return nil, fmt.Errorf("%s is a tokenizer of pictures, and %s is none: give a folder, an archive or a picture", o.Dir, o.Input)
	case !t.pictures() && pictures:
		return nil, fmt.Errorf("%s is a tokenizer of vectors, and %s holds pictures", o.Dir, o.Input)
	}
	return t, nil
}

// data opens the input for the tokenizer. dropped counts vectors left out.
func (o CodingOptions) data(ctx context.Context, t *Opened, watch task.Watcher) (set dataset.Set, dropped int, err error) {
	set, dropped, err = openSet(ctx, o.Input, t.Bundle.Tokenizer.Spec.Model, o.Drop, o.Workers, watch)
	if err != nil {
		return nil, 0, err
	}
	if err := CheckDimension(set, t.Bundle.Manifest.Input); err != nil {
		set.Close()
		return nil, 0, err
	}
	return set, dropped, nil
}

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
