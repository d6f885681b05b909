package prior

import (
	"context"
	"encoding/hex"
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// destination is where samples go.
type destination interface {
	pictures() bool // rows are decoded
	// open checks the place and returns the rows of a killed run of the same identity.
	open(identity string, tokens int, force bool) (*codes.Partial, error)
	// drawn takes the codes of rows as soon as they are recorded.
	drawn(ctx context.Context, s *sampling, rows []int, codes []uint32) error
	// finish writes what is left to write and describes it.
	finish(ctx context.Context, s *sampling, kept *codes.Partial) (string, error)
	// leave closes the record, and removes it if it is empty.
	leave(kept *codes.Partial)
}

// mostInGrid bounds the pictures of a grid: more make files that few viewers open.
const mostInGrid = 1024

// output recognises the destination by its name.
func (o SampleOptions) output(p *Prior) (destination, error) {
	path := filepath.Clean(o.Output)
	extension := dataset.Extension(path)
	info, err := os.Stat(path)
	isFolder := err == nil && info.IsDir() || extension == "" || strings.HasSuffix(o.Output, "/")
	var d destination
	switch f := (file{path}); {
	case isFolder:
		d = &folder{path: path}
	case extension == ".png":
		d = gridFile{f}
	case extension == ".tar":
		d = tarFile{f}
	case codes.CheckExtension(path) == nil:
		d = codesFile{f}
	default:
		return nil, usage.Errorf("%s has no extension for samples: use .png for a grid, .tar, a folder (end its name with /), "+
			"or .npy, .parquet, .jsonl or .gvq for codes", o.Output)
	}
	switch {
	case d.pictures() && p.Manifest.Pixels == 0:
		return nil, usage.Errorf("the prior %s models rows of codes, not pictures; name a file of codes, such as samples.npy", o.Dir)
	case extension == ".png" && o.Count > mostInGrid:
		return nil, usage.Errorf("a grid of %s pictures is too large; name a folder or a .tar, or draw at most %s",
			report.Count(o.Count), report.Count(mostInGrid))
	case isFolder:
		return d, nil
	}
	return d, output.Check(o.Complete, path)
}

// file is a destination that is written when all rows are drawn.
type file struct{ path string }

func (f file) open(identity string, tokens int, _ bool) (*codes.Partial, error) {
	atomicfile.Sweep(filepath.Dir(f.path))
	return codes.OpenPartial(f.unfinished(), identity, tokens)
}

func (f file) unfinished() string {
	return filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+".partial")
}

func (f file) drawn(context.Context, *sampling, []int, []uint32) error { return nil }

func (f file) leave(kept *codes.Partial) {
	if kept.Close(); kept.Len() == 0 {
		os.Remove(f.unfinished())
	}
}

type gridFile struct{ file }

func (gridFile) pictures() bool { return true }

func (f gridFile) finish(ctx context.Context, s *sampling, kept *codes.Partial) (string, error) {
	var all []image.Image
	if s.upper != nil {
		all = append(all, s.upper.picture)
	}
	err := s.decodeKept(ctx, kept, everyRow, func(_ int, p *images.RGB) error {
		all = append(all, p)
		return nil
	})
	if err != nil {
		return "", err
	}
	columns := int(math.Ceil(math.Sqrt(float64(len(all)))))
	var rows []draw.Row
	for first := 0; first < len(all); first += columns {
		rows = append(rows, draw.Row{Pictures: all[first:min(len(all), first+columns)]})
	}
	return s.described(), draw.WritePNG(f.path, draw.Grid(rows, nil))
}

type tarFile struct{ file }

func (tarFile) pictures() bool { return true }

func (f tarFile) finish(ctx context.Context, s *sampling, kept *codes.Partial) (string, error) {
	out, err := picture.Create(f.path, s.Count)
	if err != nil {
		return "", err
	}
	defer out.Abort()
	if err := s.decodeKept(ctx, kept, everyRow, func(i int, p *images.RGB) error { return out.Add(numbered(i), p) }); err != nil {
		return "", err
	}
	return s.described(), out.Commit()
}

type codesFile struct{ file }

func (codesFile) pictures() bool { return false }

func (f codesFile) finish(_ context.Context, s *sampling, kept *codes.Partial) (string, error) {
	m := s.prior.Manifest
	content := codes.Content{Vocab: m.Layout.Vocab, Rows: s.Count, Cells: m.Layout.Cells}
	if content.Cells == 1 { // of vectors: no axis of cells
		content.Cells = 0
	}
	if sum, err := hex.DecodeString(m.Tokenizer); err == nil {
		copy(content.Fingerprint[:], sum)
	}
	w, err := codes.Create(f.path, content)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if err := kept.Each(func(_ int, row []uint32) error { return w.WriteRows(row) }); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s of %s", report.Counted(s.Count, "row"), report.Counted(m.Layout.Tokens(), "code")), w.Commit()
}

// numbered names a picture.
func numbered(i int) string { return fmt.Sprintf("%06d", i) }

// described says what was drawn, for pictures.
func (s *sampling) described() string {
	size := s.runtime.Tokenizer().Spec.Model.Image.Size
	return fmt.Sprintf("%s of %d x %d pixels", report.Counted(s.Count, "picture"), size, size)
}

func everyRow(int) bool { return true }

// decodeKept visits the pictures of the wanted rows.
func (s *sampling) decodeKept(ctx context.Context, kept *codes.Partial, wanted func(row int) bool,
	visit func(i int, p *images.RGB) error,
) error {
	line := s.watch.Line(s.Count, "pictures")
	defer line.Done()
	var rows []int
	var block []uint32
	flush := func() error {
		if err := s.decode(ctx, rows, block, visit); err != nil {
			return err
		}
		line.Update(int64(rows[len(rows)-1]+1), "decoded")
		rows, block = rows[:0], block[:0]
		return nil
	}
	err := kept.Each(func(row int, codes []uint32) error {
		if wanted(row) {
			rows, block = append(rows, row), append(block, codes...)
		}
		if len(rows) == together {
			return flush()
		}
		return nil
	})
	if err == nil && len(rows) > 0 {
		err = flush()
	}
	return err
}

// decode visits the pictures of the codes of rows.
func (s *sampling) decode(ctx context.Context, rows []int, codes []uint32, visit func(i int, p *images.RGB) error) error {
	image := s.runtime.Tokenizer().Spec.Model.Image
	batch, err := s.runtime.Decode(ctx, codes, len(rows), s.prior.Model.Layout.Levels())
	if err != nil {
		return fmt.Errorf("decoding samples %d to %d: %w", rows[0], rows[len(rows)-1], err)
	}
	for i, row := range rows {
		p := &images.RGB{Width: image.Size, Height: image.Size, Pix: batch.Pixels[i*image.Input() : (i+1)*image.Input()]}
		if err := visit(row, p); err != nil {
			return err
		}
	}
	return nil
}
