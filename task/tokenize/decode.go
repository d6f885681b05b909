package tokenize

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// DecodeOptions name a tokenizer, a file of codes and the output.
type DecodeOptions struct {
	Dir     string // of the tokenizer
	Input   string // codes
	Output  string // vectors: .npy, .fvecs or .parquet; pictures: a folder, a .tar or a .png
	Backend string // see [engine.Choose]
	Force   bool   // decode a .gvq file of another tokenizer

	Predictor OpenPredictor // that the file of one picture was encoded with; nil for the tokenizer's own model
}

// Decode reconstructs vectors or pictures from codes.
func Decode(ctx context.Context, o DecodeOptions, watch task.Watcher) (Result, error) {
	info, err := os.Stat(o.Output)
	folder := err == nil && info.IsDir()
	if !folder { // pictures go into folders
		if err := output.Check(o.Input, o.Output); err != nil {
			return nil, err
		}
	}
	t, err := Open(o.Dir, o.Backend)
	if err != nil {
		return nil, err
	}
	if t.pictures() && isCodedPicture(o.Input) {
		return o.decodePicture(ctx, t)
	}
	if o.Predictor != nil {
		return nil, usage.Errorf("--prior is for the .gvq file of one picture, which %s is not; leave it out", o.Input)
	}
	if folder && !t.pictures() {
		return nil, fmt.Errorf("cannot write %s: it is a directory; name a file", o.Output)
	}
	return o.decodeRows(ctx, t, watch)
}

func (o DecodeOptions) decodeRows(ctx context.Context, t *Opened, watch task.Watcher) (Result, error) {
	m := t.Bundle.Tokenizer
	create, size, units := o.createVectors, 4096, "rows"
	if t.pictures() {
		create, size, units = o.createPictures, 64, "pictures"
	} else if !slices.Contains([]string{".npy", ".fvecs", ".parquet"}, dataset.Extension(o.Output)) {
		return nil, usage.Errorf("%s has no extension for vectors: use .npy, .fvecs or .parquet", o.Output)
	}
	in, err := o.openCodes(t)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := create(t, in.Len())
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	line := watch.Line(in.Len(), units)
	defer line.Done()
	positions := in.Levels() / m.Tokens()
	vocab := m.Quantizer.Layout().VocabOf(positions / t.Bundle.Manifest.Layout.Parts)
	buffer := make([]uint32, size*in.Levels())
	for start := 0; start < in.Len(); start += size {
		n := min(size, in.Len()-start)
		block := buffer[:n*in.Levels()]
		if err := in.Rows(start, n, block); err != nil {
			return nil, err
		}
		if err := o.checkCodes(block, vocab, start*m.Tokens()); err != nil {
			return nil, err
		}
		items, err := t.Runtime.Decode(ctx, block, n, positions)
		if err != nil {
			return nil, fmt.Errorf("decoding rows %d to %d of %s: %w", start, start+n-1, o.Input, err)
		}
		if err := out.add(start, items); err != nil {
			return nil, err
		}
		line.Update(int64(start+n), "decoded")
	}
	if err := out.Commit(); err != nil {
		return nil, err
	}
	return out.written(in.Len()), nil
}

// openCodes opens the codes and checks that the tokenizer can have made them.
func (o DecodeOptions) openCodes(t *Opened) (*codes.File, error) {
	in, err := codes.Open(o.Input)
	if err != nil {
		return nil, err
	}
	if made, known := in.Fingerprint(); known && made != t.Bundle.Manifest.Fingerprint() && !o.Force {
		in.Close()
		return nil, fmt.Errorf("%s was encoded by another tokenizer; give the one that made it, or --force to decode anyway", o.Input)
	}
	layout, cells := t.Bundle.Manifest.Layout, t.Bundle.Tokenizer.Tokens()
	if positions := in.Levels() / cells; in.Levels()%cells != 0 || positions%layout.Parts != 0 || positions > layout.Parts*layout.Levels {
		row := fmt.Sprintf(" (%s x %s)", report.Counted(layout.Parts, "part"), report.Counted(layout.Levels, "level"))
		if t.pictures() {
			row = " for a picture"
		}
		in.Close()
		return nil, fmt.Errorf("%s has %d codes a row, the tokenizer makes %d%s; give codes that it made",
			o.Input, in.Levels(), cells*layout.Parts*layout.Levels, row)
	}
	return in, nil
}

// checkCodes checks a block [n, len(vocab)] whose first row is start.
func (o DecodeOptions) checkCodes(block []uint32, vocab []int, start int) error {
	for i, code := range block {
		if column := i % len(vocab); int64(code) >= int64(vocab[column]) {
			return fmt.Errorf("row %d of %s holds code %d in column %d, where the tokenizer has 0 to %d; give codes that it made",
				start+i/len(vocab), o.Input, code, column, vocab[column]-1)
		}
	}
	return nil
}

func isCodedPicture(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, len(codes.PictureMagic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == codes.PictureMagic
}

func (o DecodeOptions) decodePicture(ctx context.Context, t *Opened) (Result, error) {
	if dataset.Extension(o.Output) != ".png" {
		return nil, usage.Errorf("%s: a picture is decoded to a .png", o.Output)
	}
	files, err := t.files(o.Predictor)
	if err != nil {
		return nil, err
	}
	grid, err := files.Read(ctx, o.Input)
	if err != nil {
		return nil, err
	}
	p, err := picture.Encoder{Runtime: t.Runtime}.Decode(ctx, grid)
	if err != nil {
		return nil, err
	}
	return Drawn{o.Output, p.Width, p.Height}, draw.WritePNG(o.Output, p)
}

type decodedItems interface {
	add(start int, items dataset.Batch) error
	Commit() error
	Abort()
	written(rows int) Written
}

type vectorOutput struct {
	vectors.Writer
	path string
	dim  int
}

func (o DecodeOptions) createVectors(t *Opened, rows int) (decodedItems, error) {
	w, err := vectors.Create(o.Output, t.Bundle.Manifest.Input, rows)
	if err != nil {
		return nil, err
	}
	return vectorOutput{w, o.Output, t.Bundle.Manifest.Input}, nil
}

func (v vectorOutput) add(_ int, items dataset.Batch) error { return v.WriteRows(items.Values) }

func (v vectorOutput) written(rows int) Written { return written(v.path, rows, v.dim, 0, "numbers") }

// pictureOutput names pictures by the keys that encode wrote beside the codes.
type pictureOutput struct {
	*picture.Output
	path  string
	names []string
	size  int // side of a picture
}

func (o DecodeOptions) createPictures(t *Opened, rows int) (decodedItems, error) {
	names, err := pictureNames(o.Input, rows)
	if err != nil {
		return nil, err
	}
	if err := picture.CheckNames(o.Output, names); err != nil {
		return nil, fmt.Errorf("%w (the names are those of %s)", err, codes.KeysPath(o.Input))
	}
	out, err := picture.Create(o.Output, rows)
	if err != nil {
		return nil, err
	}
	return pictureOutput{out, o.Output, names, t.Bundle.Tokenizer.Spec.Model.Image.Size}, nil
}

func (p pictureOutput) add(start int, items dataset.Batch) error {
	each := 3 * p.size * p.size
	for i := range items.N {
		picture := &images.RGB{Width: p.size, Height: p.size, Pix: items.Pixels[i*each : (i+1)*each]}
		if err := p.Add(p.names[start+i], picture); err != nil {
			return err
		}
	}
	return nil
}

func (p pictureOutput) written(rows int) Written {
	return Written{Output: p.path, Rows: rows, Columns: 3 * p.size * p.size, Bytes: p.Bytes(), size: p.size}
}

// pictureNames are the keys beside a file of codes, or numbers.
func pictureNames(file string, n int) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%06d", i)
	}
	keys, err := codes.ReadKeys(file, n)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		// A key is a path inside an archive: it must stay below the output.
		if clean := path.Clean("/" + key)[1:]; clean != "" {
			names[i] = clean
		}
	}
	return names, nil
}
