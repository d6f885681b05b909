// # Picture files
//
// Codes take fewer bits when they are predicted from their neighbours. Encode
// writes one picture a file, Decode reads it; a Model predicts. A file is a
// header, a payload and a checksum:
//
//	bytes   content
//	4       magic "GVQI"
//	1       format version: 1, or 2 with a Predictor (see predicted.go)
//	varint  width of the picture in pixels, W
//	varint  height of the picture in pixels, H
//	varint  factor f: pixels that a cell is wide and high
//	varint  levels L: codes in a cell
//	varint  vocabulary of the first level, and of every other one
//	8       identity of the tokenizer and the model: the first bytes of the
//	        SHA-256 of the tokenizer's fingerprint and the model's SHA-256
//	        (the latter only if there is a model)
//	...     payload, up to the last 4 bytes
//	4       CRC-32C of all before it, little-endian
//
// A varint holds 7 bits a byte, the lowest first, in as few bytes as possible,
// the highest bit telling that more follow (as in encoding/binary). The grid has
// ceil(W/f) columns and ceil(H/f) rows.
//
// The payload is a number in [0, 1): its digits in base 256 after the point,
// without trailing zeros that the decoder can supply. It is the output of a range
// coder with a 64-bit interval for the symbols, level by level, the grid row by
// row; a level of one code has none. With a model of cells in phases, the cells of
// a phase come before those of the next, each level by level. The first symbol of a level is its method,
// one of three of the same probability: uniform, each code being one of K
// equal symbols; counted, with the adaptive counts of entropy_counts.go; or
// contextual, with the model.
package codes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gritvq/gritvq/internal/memory"
)

const (
	// PictureMagic is how picture files start.
	PictureMagic = "GVQI"

	plainVersion     = 1
	predictedVersion = 2
	identityBytes    = 8

	// MaxPictureLevels is the largest number of codes of a cell.
	MaxPictureLevels = 256
	// MaxPictureVocab is the largest vocabulary of a level of a picture.
	MaxPictureVocab = 1 << 20
	// MaxPictureCodes is the largest number of codes of a picture.
	MaxPictureCodes = 1 << 26
	// MaxPictureSide is the largest width and height in pixels.
	MaxPictureSide = 1 << 24
	// MaxPicturePixels is the largest number of pixels of a picture.
	MaxPicturePixels = 1 << 28
)

// Picture holds the codes of a picture and its size.
type Picture struct {
	Width, Height int      // in pixels
	Factor        int      // pixels that a cell is wide and high
	Vocab         []uint32 // number of codes of each level
	Codes         []uint32 // [GridHeight, GridWidth, levels]
	// Fingerprint identifies the tokenizer the codes belong to.
	Fingerprint [32]byte
}

// GridWidth is the number of cells side by side.
func (p Picture) GridWidth() int { return (p.Width + p.Factor - 1) / p.Factor }

// GridHeight is the number of cells one below the other.
func (p Picture) GridHeight() int { return (p.Height + p.Factor - 1) / p.Factor }

// Bits is the size of a picture file by its parts.
type Bits struct {
	Header  int // with the checksum
	Payload int
	Levels  []LevelBits // of every phase
}

// LevelBits says how a level was coded.
type LevelBits struct {
	Method Method
	Bits   int // of the payload, rounded
}

// Encode writes a picture to w, each level with the method that takes the fewest
// bits. The model may be nil; otherwise it must know the picture's vocabularies,
// and Decode needs it too. A file is never larger than log2 of the vocabularies,
// plus the header and two bytes a level.
func Encode(w io.Writer, p Picture, m *Model) (Bits, error) {
	if err := p.check(); err != nil {
		return Bits{}, fmt.Errorf("the picture cannot be encoded: %w", err)
	}
	grid := CodeMap{Height: p.GridHeight(), Width: p.GridWidth(), Codes: p.Codes}
	if err := grid.check(p.Vocab); err != nil {
		return Bits{}, fmt.Errorf("the picture cannot be encoded: %w", err)
	}
	if err := m.fits(p.Vocab); err != nil {
		return Bits{}, err
	}
	out := p.header(plainVersion, identity(p.Fingerprint, m))
	header := len(out) + checksumBytes
	e := newRangeEncoder()
	var size Bits
	for _, plane := range grid.planes(m.phasesOf()) {
		before := e.bits()
		var method Method
		e, method = encodePlane(e, plane, p.Vocab[plane.level], m)
		size.Levels = append(size.Levels, LevelBits{method, e.bits() - before})
	}
	out = append(out, e.finish()...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	size.Header, size.Payload = 8*header, 8*(len(out)-header)
	if _, err := w.Write(out); err != nil {
		return Bits{}, fmt.Errorf("writing a picture: %w", err)
	}
	return size, nil
}

// Decode reads a picture file from r to its end. Fingerprint identifies the
// tokenizer, and m is its model of codes, or nil. It fails on damage, on other
// files, and on pictures of other tokenizers.
func Decode(r io.Reader, fingerprint [32]byte, m *Model) (Picture, error) {
	content, err := readPicture(r)
	if err != nil {
		return Picture{}, err
	}
	f, err := parseHeader(content)
	if err != nil {
		return Picture{}, err
	}
	if f.version != plainVersion {
		return Picture{}, errors.New("the picture was encoded with a prior: name it with --prior")
	}
	p, payload := f.Picture, f.rest
	switch p.Fingerprint = fingerprint; f.id {
	case identity(fingerprint, m):
	case identity(fingerprint, nil):
		m = nil
	default:
		return Picture{}, errors.New("the picture belongs to another tokenizer, or to this one with another model of its codes: decode it " +
			"with the one that encoded it")
	}
	if err := m.fits(p.Vocab); err != nil {
		return Picture{}, err
	}
	grid, err := p.grid()
	if err != nil {
		return Picture{}, err
	}
	d := newRangeDecoder(payload)
	for _, plane := range grid.planes(m.phasesOf()) {
		if _, ok := decodePlane(d, plane, p.Vocab[plane.level], m); !ok {
			return Picture{}, fmt.Errorf("the picture is damaged: its payload of %d bytes does not hold level %d", len(payload), plane.level)
		}
	}
	p.Codes = grid.Codes
	return p, nil
}

// grid returns room for the codes, if the machine has it.
func (p Picture) grid() (CodeMap, error) {
	g := CodeMap{Height: p.GridHeight(), Width: p.GridWidth()}
	if err := memory.Check(fmt.Sprintf("a picture of %d x %d cells", g.Width, g.Height), g.Height, g.Width, len(p.Vocab), 4); err != nil {
		return g, err
	}
	g.Codes = make([]uint32, g.Height*g.Width*len(p.Vocab))
	return g, nil
}

// phasesOf is the number of phases in which a model, which may be nil, codes cells.
func (m *Model) phasesOf() int {
	if m == nil {
		return 1
	}
	return m.phases
}

// fits fails unless the model, if there is one, begins with these vocabularies.
func (m *Model) fits(vocab []uint32) error {
	if m == nil {
		return nil
	}
	if known := m.Vocab(); len(known) < len(vocab) || !slices.Equal(known[:len(vocab)], vocab) {
		return fmt.Errorf("the model of codes knows vocabularies of %v, the picture has %v: train the model with the tokenizer's pictures",
			known, vocab)
	}
	return nil
}
