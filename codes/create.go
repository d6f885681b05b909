package codes

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
	"github.com/gritvq/gritvq/internal/usage"
)

// Content describes the codes of a file.
type Content struct {
	Vocab []int // codes of each level
	Rows  int
	// Cells is the number of cells of a picture, each with a code a level; 0
	// if a row is one vector.
	Cells int
	// Fingerprint identifies the tokenizer; only the packed format stores it.
	Fingerprint [32]byte
}

// RowWriter takes the codes of all rows in order and makes them a file.
type RowWriter interface {
	// WriteRows appends codes [n*levels], row after row. It is an error when
	// they are no whole rows, more than announced, or outside the vocabulary.
	WriteRows(codes []uint32) error
	// Commit puts the file in place, whole and durable; it is an error, and
	// nothing is kept, when rows are missing or the disk is full.
	Commit() error
	// Abort discards everything; it does nothing after Commit.
	Abort()
}

// Create starts a file of codes. The extension decides the format:
//
//   - .npy: an array [rows, levels] of uint16, or of uint32 when a level has
//     more than 65,536 codes; of pictures [rows, cells], or [rows, cells,
//     levels] if there are several levels
//   - .parquet: columns row (int64) and codes (list of int32)
//   - .jsonl: one line {"row":0,"codes":[3,17]} per row
//   - .gvq: bits packed, see Header
//
// The codes of a picture are one list, cell after cell. Nothing is visible
// under path before Commit.
func Create(path string, c Content) (RowWriter, error) {
	if err := CheckExtension(path); err != nil {
		return nil, err
	}
	shape := []int{c.Rows, len(c.Vocab)}
	if c.Cells > 0 {
		shape[1] = c.Cells
		if len(c.Vocab) > 1 {
			shape = append(shape, len(c.Vocab))
		}
		c.Vocab = slices.Repeat(c.Vocab, c.Cells)
	}
	for level, size := range c.Vocab {
		if size < 1 || size > math.MaxInt32 {
			return nil, fmt.Errorf("cannot write %s: level %d has %d codes, expected 1 to %d", path, level, size, math.MaxInt32)
		}
	}
	if IsPacked(path) {
		return createPacked(path, c)
	}
	return createTable(path, c, shape)
}

// CheckExtension refuses a path whose extension is that of no file of codes.
func CheckExtension(path string) error {
	known := append(knownFormats(), rowfile.Format{Extension: PackedExtension})
	extension := dataset.Extension(path)
	if slices.ContainsFunc(known, func(f rowfile.Format) bool { return f.Extension == extension }) {
		return nil
	}
	return usage.Errorf("%s has no extension for codes: use %s", path, rowfile.List(known))
}

func createTable(path string, c Content, shape []int) (RowWriter, error) {
	var encodings []rowfile.Encoding[uint32]
	for _, f := range formats {
		encodings = append(encodings, rowfile.Encoding[uint32]{
			Extension: f.Extension,
			Open:      func(file *atomicfile.File) (rowfile.Encoder[uint32], error) { return f.create(file, c, shape) },
		})
	}
	writer, err := rowfile.Create(path, "codes", c.Rows, len(c.Vocab), encodings)
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(c.Vocab)
	writer.Check = func(row int, codes []uint32) error {
		for level, code := range codes {
			if int64(code) >= int64(sizes[level]) {
				return fmt.Errorf("writing %s: code %d of row %d, level %d is outside the vocabulary of %d", path, code, row, level, sizes[level])
			}
		}
		return nil
	}
	return writer, nil
}

// packedFile writes the packed format to an atomic file.
type packedFile struct {
	*Writer
	file *atomicfile.File
}

func createPacked(path string, c Content) (RowWriter, error) {
	header := Header{Vocab: make([]uint32, len(c.Vocab)), Rows: uint64(c.Rows), Fingerprint: c.Fingerprint}
	for i, size := range c.Vocab {
		header.Vocab[i] = uint32(size)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	writer, err := NewWriter(file, header)
	if err != nil {
		file.Abort()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &packedFile{writer, file}, nil
}

func (p *packedFile) Commit() error {
	if err := p.Close(); err != nil {
		p.file.Abort()
		return err
	}
	return p.file.Commit()
}

func (p *packedFile) Abort() { p.file.Abort() }
