package tokenize

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// EncodeOptions name a tokenizer, its input and the file of codes.
type EncodeOptions struct {
	CodingOptions
	Output string // .npy, .parquet, .jsonl or .gvq

	// Predictor, if not nil, opens what predicts the codes of one picture of a tokenizer, known by its fingerprint and directory,
	// in place of the tokenizer's own model.
	Predictor OpenPredictor
}

// OpenPredictor opens a predictor for a tokenizer, known by its fingerprint, which messages call by its name.
type OpenPredictor func(fingerprint [32]byte, name string) (codes.Predictor, error)

// Encode writes the codes of vectors or pictures. A killed run on pictures resumes when it is repeated. A single picture
// of any size becomes an entropy-coded .gvq file.
func Encode(ctx context.Context, o EncodeOptions, watch task.Watcher) (Result, error) {
	if err := output.Check(o.Input, o.Output); err != nil {
		return nil, err
	}
	one := codes.IsPacked(o.Output) && dataset.KindOf(o.Input) == dataset.Picture
	if o.Predictor != nil && !one {
		return nil, usage.Errorf("--prior is for one picture and an output such as photo.gvq; leave it out")
	}
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	if !t.pictures() {
		return o.encodeVectors(ctx, t, watch)
	}
	if one {
		return o.encodePicture(ctx, t)
	}
	return o.encodePictures(ctx, t, watch)
}

// content describes the file of codes; cells is 0 for vectors.
func (o EncodeOptions) content(t *Opened, rows, cells int) codes.Content {
	vocab := t.Bundle.Tokenizer.Quantizer.Layout().VocabOf(o.Levels)
	return codes.Content{Vocab: vocab, Rows: rows, Cells: cells, Fingerprint: t.Bundle.Manifest.Fingerprint()}
}

func (o EncodeOptions) encodeVectors(ctx context.Context, t *Opened, watch task.Watcher) (Result, error) {
	v, dropped, err := o.data(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	w, err := codes.Create(o.Output, o.content(t, v.Len(), 0))
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := o.eachCodes(ctx, t, v, watch, w.WriteRows); err != nil {
		return nil, err
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return written(o.Output, v.Len(), t.Runtime.Positions(o.runtime()), dropped, "codes"), nil
}

// eachCodes calls write with the codes of vectors, some rows at a time.
func (o CodingOptions) eachCodes(ctx context.Context, t *Opened, v dataset.Set, watch task.Watcher,
	write func(codes []uint32) error,
) error {
	line := watch.Line(v.Len(), "rows")
	defer line.Done()
	checked := finite{v, "clean the file or pass --drop-nonfinite"}
	return t.Runtime.EncodeRows(ctx, checked, dataset.All(v.Len()), o.runtime(), func(c tokenizer.Coded) error {
		line.Update(int64(c.Done), "encoded")
		return write(c.Codes)
	})
}

// Codes returns the codes [rows*positions] of a file of vectors.
func Codes(ctx context.Context, o CodingOptions, watch task.Watcher) (all []uint32, err error) {
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	defer t.Runtime.Close()
	v, _, err := o.data(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	err = o.eachCodes(ctx, t, v, watch, func(codes []uint32) error {
		all = append(all, codes...)
		return nil
	})
	return all, err
}

// finite is a set of vectors that fails on NaN and Inf.
type finite struct {
	dataset.Set
	advice string
}

func (s finite) Read(rows []int) (items dataset.Batch, kept []int, err error) {
	if items, kept, err = s.Set.Read(rows); err != nil {
		return items, kept, err
	}
	for i, x := range items.Values {
		if x-x != 0 {
			return items, kept, fmt.Errorf("row %d of %s holds NaN or Inf; %s", rows[i/s.Input()], s.Path(), s.advice)
		}
	}
	return items, kept, nil
}

// encodePictures encodes the middle of every picture of a set, a row each.
func (o EncodeOptions) encodePictures(ctx context.Context, t *Opened, watch task.Watcher) (Result, error) {
	if err := codes.CheckExtension(o.Output); err != nil {
		return nil, err
	}
	set, _, err := o.data(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	fingerprint, err := set.Fingerprint()
	if err != nil {
		return nil, err
	}
	cells, positions := t.Bundle.Tokenizer.Tokens(), t.Runtime.Positions(o.runtime())
	identity := fmt.Sprintf("%x %s levels %d beam %d", t.Bundle.Manifest.Fingerprint(), fingerprint, o.Levels, o.Beam)
	unfinished := filepath.Join(filepath.Dir(o.Output), "."+filepath.Base(o.Output)+".partial")
	part, err := codes.OpenPartial(unfinished, identity, cells*positions)
	if err != nil {
		return nil, err
	}
	defer func() {
		if part.Close(); part.Len() == 0 { // nothing to resume from
			os.Remove(unfinished)
		}
	}()
	if part.Next() > 0 {
		watch.Remark("continuing after picture %d of %d", part.Next(), set.Len())
	}
	line := watch.Line(set.Len(), "pictures")
	defer line.Done()
	first := part.Next()
	err = t.Runtime.EncodeRows(ctx, set, dataset.All(set.Len()).From(first), o.runtime(), func(c tokenizer.Coded) error {
		line.Update(int64(first+c.Done), "encoded")
		return part.Append(c.Rows, c.Codes)
	})
	if err != nil {
		return nil, err
	}
	line.Done()
	if part.Len() == 0 {
		return nil, fmt.Errorf("none of the %d pictures of %s could be read", set.Len(), o.Input)
	}
	if err := o.writeGrids(t, set.(*images.Set), part, cells); err != nil {
		return nil, err
	}
	if err := part.Remove(); err != nil {
		return nil, fmt.Errorf("removing unfinished codes: %w", err)
	}
	return written(o.Output, part.Len(), cells*positions, set.Len()-part.Len(), "codes"), nil
}

// writeGrids turns the partial file into the file of codes, and writes the key of every row beside it.
func (o EncodeOptions) writeGrids(t *Opened, set *images.Set, part *codes.Partial, cells int) error {
	w, err := codes.Create(o.Output, o.content(t, part.Len(), cells))
	if err != nil {
		return err
	}
	defer w.Abort()
	var keys []string
	err = part.Each(func(row int, encoded []uint32) error {
		keys = append(keys, set.Key(row))
		return w.WriteRows(encoded)
	})
	if err != nil {
		return err
	}
	if err := codes.WriteKeys(o.Output, keys); err != nil {
		return err
	}
	return w.Commit()
}

// encodePicture writes one picture of any size as an entropy-coded file.
func (o EncodeOptions) encodePicture(ctx context.Context, t *Opened) (Result, error) {
	if all := t.Bundle.Manifest.Layout.Levels; o.Predictor != nil && o.Levels != 0 && o.Levels != all {
		return nil, usage.Errorf("--levels %d: a prior knows all %d levels together; leave one of --levels and --prior out", o.Levels, all)
	}
	files, err := t.files(o.Predictor)
	if err != nil {
		return nil, err
	}
	set, err := images.Open(ctx, o.Input, images.Options{})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	p, err := set.Whole(0)
	if err != nil {
		return nil, err
	}
	grid, err := picture.Encoder{Runtime: t.Runtime, Options: o.runtime()}.Encode(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := files.Write(ctx, o.Output, grid); err != nil {
		return nil, err
	}
	return codedPicture(o, t, grid)
}
