package export

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/export/faiss"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/vq"
)

// toFAISS writes an index with the codes of a tokenizer and, if some are given, of vectors.
func toFAISS(ctx context.Context, o Options, watch task.Watcher) (Result, error) {
	switch {
	case o.Input != "" && o.Codes != "":
		return Result{}, usage.Errorf("--data and --codes exclude each other: both are the vectors to be stored")
	case o.IDs != "" && o.Input == "" && o.Codes == "":
		return Result{}, usage.Errorf("--ids needs the vectors that it names: add --data or --codes")
	}
	if err := output.Check(o.Dir, o.Output); err != nil {
		return Result{}, err
	}
	if err := output.RefuseInput([]string{o.Output}, o.Input, o.Codes, o.IDs); err != nil {
		return Result{}, err
	}
	b, err := bundle.Load(o.Dir)
	if err != nil {
		return Result{}, err
	}
	x, note, err := newIndex(o.Dir, b, o.Levels, o.Beam)
	if err != nil {
		return Result{}, err
	}
	if err := fillIndex(ctx, o, b, x, watch); err != nil {
		return Result{}, err
	}
	if err := faiss.Write(o.Output, x); err != nil {
		return Result{}, err
	}
	info, err := os.Stat(o.Output)
	if err != nil {
		return Result{}, fmt.Errorf("reading back the result: %w", err)
	}
	text := fmt.Sprintf("%s of %d dimensions, %s of %d codes", report.Counted(x.Len(), "vector"), x.Input(),
		report.Counted(len(x.Books), "position"), x.Codes)
	r := Result{Output: o.Output, Rows: x.Len(), Files: []File{{o.Output, info.Size(), text}}}
	if note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}

// newIndex returns the empty index of a tokenizer's first levels (0: all), and a note where it is more than its codes.
func newIndex(dir string, b *bundle.Bundle, levels, beam int) (*faiss.Index, string, error) {
	layout, spec := b.Tokenizer.Quantizer.Layout(), b.Tokenizer.Spec
	if levels == 0 {
		levels = layout.Levels
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s cannot become a FAISS index: %w", dir, fmt.Errorf(format, args...))
	}
	switch {
	case b.Tokenizer.Modality().Kind() == dataset.Pictures:
		return nil, "", refuse("it is a tokenizer of pictures, and an index holds vectors; use --to onnx")
	case levels < 1 || levels > layout.Levels:
		return nil, "", usage.Errorf("--levels %d: the tokenizer has levels 1 to %d", levels, layout.Levels)
	case spec.Quantizer.Transform.Conditional() && levels > 1:
		return nil, "", refuse("its codes depend on those of earlier levels; train with --set quantizer.transform.levels=none")
	case spec.Quantizer.Search == vq.Local && levels < layout.Levels:
		return nil, "", usage.Errorf("--levels %d: codes found by local search are of use together only; leave it out", levels)
	case !vq.Searchable(b.Tokenizer.Quantizer):
		return nil, "", refuse("method %s finds codes in a way of its own, and FAISS takes the nearest", spec.Quantizer.Method)
	case layout.Parts > 1 && levels > 1:
		return nil, "", refuse("it has parts and levels, and an index has either; use --levels 1, or train with --levels 1 or --parts 1")
	case layout.Parts > 1 && layout.Dim%layout.Parts != 0:
		return nil, "", refuse("its %d parts of %d dimensions are not equally wide", layout.Parts, layout.Dim)
	}
	s, err := indexSpace(b)
	if err != nil {
		return nil, "", refuse("%w", err)
	}
	if beam == 0 {
		beam = spec.Quantizer.Beam
	}
	x := &faiss.Index{Transforms: s.transforms, Dim: layout.Dim, Product: layout.Parts > 1, Codes: layout.Vocab[0], Beam: max(1, beam)}
	for part := range layout.Parts {
		for level := range levels {
			book := b.Codebooks[part*layout.Levels+level].Clone().Data
			for i := range book {
				book[i] *= s.scale
			}
			x.Books = append(x.Books, book)
		}
	}
	return x, strings.Join(append(s.notes(b), localNotes(spec.Quantizer)...), "; "), nil
}

// notes say where FAISS decodes to other vectors.
func (s space) notes(b *bundle.Bundle) (all []string) {
	if s.note != "" {
		all = append(all, s.note)
	}
	if b.Tokenizer.Refines() {
		all = append(all, "FAISS decodes to the sums of the codes; gritvq decode refines them, with less error")
	}
	return all
}

// localNotes say where FAISS finds other codes.
func localNotes(q vq.Config) []string {
	if q.Search != vq.Local {
		return nil
	}
	return []string{"codes were found by local search, and FAISS finds codes of new vectors by its beam, with more error: " +
		"store vectors with --data or --codes"}
}

// fillIndex stores the codes of vectors, or those of a file.
func fillIndex(ctx context.Context, o Options, b *bundle.Bundle, x *faiss.Index, watch task.Watcher) (err error) {
	switch {
	case o.Input != "":
		x.Rows, err = tokenize.Codes(ctx, o.CodingOptions, watch)
	case o.Codes != "":
		x.Rows, err = readCodes(o, b, len(x.Books))
	}
	if err != nil || o.IDs == "" {
		return err
	}
	x.IDs, err = readIDs(o.IDs, x.Len())
	return err
}

// readCodes reads a file of codes of the tokenizer.
func readCodes(o Options, b *bundle.Bundle, positions int) ([]uint32, error) {
	f, err := codes.Open(o.Codes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if own, known := f.Fingerprint(); known && own != b.Manifest.Fingerprint() {
		return nil, fmt.Errorf("the codes of %s are those of another tokenizer than %s", o.Codes, o.Dir)
	}
	if f.Levels() != positions {
		return nil, fmt.Errorf("%s has %d codes a row, the index %d; choose as many with --levels", o.Codes, f.Levels(), positions)
	}
	rows := make([]uint32, f.Len()*positions)
	if err := f.Rows(0, f.Len(), rows); err != nil {
		return nil, err
	}
	for i, code := range rows {
		if vocab := b.Tokenizer.Quantizer.Layout().Vocab[0]; int(code) >= vocab {
			return nil, fmt.Errorf("row %d of %s holds code %d, the tokenizer has %d", i/positions, o.Codes, code, vocab)
		}
	}
	return rows, nil
}
