package tokenize

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

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
	switch {
	case t.pictures() && isCodedPicture(o.Input):
		return o.decodePicture(ctx, t)
	case t.pictures():
		return o.decodePictures(ctx, t, watch)
	case folder:
		return nil, fmt.Errorf("cannot write %s: it is a directory; name a file", o.Output)
	}
	return o.decodeVectors(ctx, t, watch)
}

func (o DecodeOptions) decodeVectors(ctx context.Context, t *Opened, watch task.Watcher) (Result, error) {
	switch dataset.Extension(o.Output) {
	case ".npy", ".fvecs", ".parquet":
	default:
		return nil, usage.Errorf("%s has no extension for vectors: use .npy, .fvecs or .parquet", o.Output)
	}
	in, err := o.openCodes(t, 1)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	w, err := vectors.Create(o.Output, t.Bundle.Manifest.Input, in.Len())
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	err = o.eachBlock(in, t, blockRows, watch.Line(in.Len(), "rows"), func(start, n int, block []uint32) error {
		x, err := t.Runtime.Decode(ctx, block, n, in.Levels())
		if err != nil {
			return fmt.Errorf("decoding rows %d to %d of %s: %w", start, start+n-1, o.Input, err)
		}
		return w.WriteRows(x.Values)
	})
	if err != nil {
		return nil, err
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return written(o.Output, in.Len(), t.Bundle.Manifest.Input, 0, "numbers"), nil
}

// decodePictures writes PNG files into a folder or a tar, or one PNG if there is
// one row. Their names are the keys that encode wrote beside the codes.
func (o DecodeOptions) decodePictures(ctx context.Context, t *Opened, watch task.Watcher) (Result, error) {
	cells := t.Bundle.Tokenizer.Tokens()
	in, err := o.openCodes(t, cells)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	names, err := pictureNames(o.Input, in.Len())
	if err != nil {
		return nil, err
	}
	out, err := picture.Create(o.Output, in.Len())
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	size, each := t.Bundle.Tokenizer.Spec.Model.Image.Size, t.Bundle.Manifest.Input
	err = o.eachBlock(in, t, blockPictures, watch.Line(in.Len(), "pictures"), func(start, n int, block []uint32) error {
		decoded, err := t.Runtime.Decode(ctx, block, n, in.Levels()/cells)
		if err != nil {
			return fmt.Errorf("decoding rows %d to %d of %s: %w", start, start+n-1, o.Input, err)
		}
		for i := range n {
			if err := out.Add(names[start+i], &images.RGB{Width: size, Height: size, Pix: decoded.Pixels[i*each : (i+1)*each]}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := out.Commit(); err != nil {
		return nil, err
	}
	return Written{Output: o.Output, Rows: in.Len(), Columns: each, Bytes: out.Bytes(), size: size}, nil
}

// openCodes opens the codes of rows with a number of cells and checks that the
// tokenizer can have made them. Packed files name their tokenizer.
func (o DecodeOptions) openCodes(t *Opened, cells int) (*codes.File, error) {
	in, err := codes.Open(o.Input)
	if err != nil {
		return nil, err
	}
	if made, known := in.Fingerprint(); known && made != t.Bundle.Manifest.Fingerprint() && !o.Force {
		in.Close()
		return nil, fmt.Errorf("%s was encoded by another tokenizer; give the one that made it, or --force to decode anyway", o.Input)
	}
	layout := t.Bundle.Manifest.Layout
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

// eachBlock decodes blocks of at most size rows and shows the progress.
func (o DecodeOptions) eachBlock(in *codes.File, t *Opened, size int, line task.Line,
	decode func(start, n int, block []uint32) error,
) error {
	defer line.Done()
	cells := t.Bundle.Tokenizer.Tokens()
	vocab := t.Bundle.Tokenizer.Quantizer.Layout().VocabOf(in.Levels() / cells / t.Bundle.Manifest.Layout.Parts)
	buffer := make([]uint32, size*in.Levels())
	for start := 0; start < in.Len(); start += size {
		n := min(size, in.Len()-start)
		block := buffer[:n*in.Levels()]
		if err := in.Rows(start, n, block); err != nil {
			return err
		}
		for i, code := range block {
			if column := i % len(vocab); int64(code) >= int64(vocab[column]) {
				return fmt.Errorf("row %d of %s holds code %d in column %d, where the tokenizer has 0 to %d; give codes that it made",
					start*cells+i/len(vocab), o.Input, code, column, vocab[column]-1)
			}
		}
		if err := decode(start, n, block); err != nil {
			return err
		}
		line.Update(int64(start+n), "decoded")
	}
	return nil
}

// pictureNames are the keys beside a file of codes, or numbers.
func pictureNames(codes string, n int) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%06d", i)
	}
	content, err := os.ReadFile(keysPath(codes))
	if err != nil {
		return names, nil // codes may travel without their keys
	}
	keys := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if len(keys) != n {
		return nil, fmt.Errorf("%s names %d pictures, %s holds %d; remove it to number them", keysPath(codes), len(keys), codes, n)
	}
	for i, key := range keys {
		// A key is a path inside an archive: it must stay below the output.
		if clean := path.Clean("/" + key)[1:]; clean != "" {
			names[i] = clean
		}
	}
	return names, nil
}

// isCodedPicture says whether a file holds one entropy-coded picture.
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

// decodePicture restores one picture.
func (o DecodeOptions) decodePicture(ctx context.Context, t *Opened) (Result, error) {
	if dataset.Extension(o.Output) != ".png" {
		return nil, usage.Errorf("%s: a picture is decoded to a .png", o.Output)
	}
	grid, err := t.files().Read(o.Input)
	if err != nil {
		return nil, err
	}
	p, err := picture.Encoder{Runtime: t.Runtime}.Decode(ctx, grid)
	if err != nil {
		return nil, err
	}
	return Drawn{o.Output, p.Width, p.Height}, draw.WritePNG(o.Output, p)
}
