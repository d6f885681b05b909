package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureBlock is the number of pictures encoded between two safe points.
const pictureBlock = 64

// encodePictures encodes the middle of every picture of a set, a row each, and
// writes their keys beside the codes. What is done survives a kill: repeating
// the command goes on after it.
func encodePictures(ctx context.Context, s *cli.Streams, o encodeOptions, b *bundle.Bundle, r *tokenizer.Runtime) error {
	if err := codes.CheckExtension(o.output); err != nil {
		return err
	}
	set, err := openPictures(ctx, s, o.input, b.Tokenizer.Spec.Model.Image, o.workers)
	if err != nil {
		return err
	}
	defer set.Close()
	content, err := set.Fingerprint()
	if err != nil {
		return err
	}
	options := tokenizer.Options{Levels: o.levels, Beam: o.beam}
	cells, positions := b.Tokenizer.Tokens(), r.Positions(options)
	identity := fmt.Sprintf("%x %s levels %d beam %d", b.Manifest.Fingerprint(), content, o.levels, o.beam)
	part, err := codes.OpenPartial(partialPath(o.output), identity, cells*positions)
	if err != nil {
		return err
	}
	defer part.Close()
	if part.Next() > 0 {
		s.Remark("continuing after picture %d of %d", part.Next(), set.Len())
	}
	line := s.Line(set.Len(), "pictures")
	defer line.Done()
	for start := part.Next(); start < set.Len(); start += pictureBlock {
		if err := encodeBlock(ctx, r, set, start, min(set.Len(), start+pictureBlock), options, part); err != nil {
			return err
		}
		line.Update(int64(min(set.Len(), start+pictureBlock)), "encoded")
	}
	line.Done()
	if part.Len() == 0 {
		return fmt.Errorf("none of the %d pictures of %s could be read", set.Len(), o.input)
	}
	if err := writeGrids(o.output, b, set, part, cells, b.Tokenizer.Quantizer.Layout().VocabOf(o.levels)); err != nil {
		return err
	}
	if err := part.Remove(); err != nil {
		return fmt.Errorf("removing unfinished codes: %w", err)
	}
	return showWritten(s, o.json, written{Output: o.output, Rows: part.Len(), Columns: cells * positions, Dropped: set.Len() - part.Len()}, "codes")
}

// encodeBlock encodes pictures start to end and appends them to the partial
// file, without the damaged ones.
func encodeBlock(ctx context.Context, r *tokenizer.Runtime, set *images.Set, start, end int, options tokenizer.Options, part *codes.Partial) error {
	rows := make([]int, 0, end-start)
	for i := start; i < end; i++ {
		rows = append(rows, i)
	}
	pair, _, err := tokenizer.ReadCentres(set, rows, r.Tokenizer().Input)
	if err != nil {
		return err
	}
	encoded, err := r.EncodePictures(ctx, pair.Original, len(pair.Rows), options)
	if err != nil {
		return err
	}
	return part.Append(pair.Rows, encoded)
}

// writeGrids makes the partial file the result: the codes, and the key of every
// row in a text file beside them.
func writeGrids(output string, b *bundle.Bundle, set *images.Set, part *codes.Partial, cells int, vocab []int) error {
	w, err := codes.Create(output, codes.Content{Vocab: vocab, Rows: part.Len(), Cells: cells, Fingerprint: b.Manifest.Fingerprint()})
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
	err = atomicfile.Write(keysPath(output), func(f io.Writer) error {
		_, err := io.WriteString(f, strings.Join(keys, "\n")+"\n")
		return err
	})
	if err != nil {
		return err
	}
	return w.Commit()
}

// keysPath is codes.keys beside codes.npy.
func keysPath(output string) string {
	return strings.TrimSuffix(output, filepath.Ext(output)) + ".keys"
}

// partialPath is where the codes of an unfinished run wait.
func partialPath(output string) string {
	return filepath.Join(filepath.Dir(output), "."+filepath.Base(output)+".partial")
}
