package codes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// Writer packs rows of codes into a file as they come. Call Close at the end:
// the last block is written there.
type Writer struct {
	to      io.Writer
	header  Header
	widths  []int
	waiting []uint32 // codes of a block not yet full
	packed  []byte
	rows    uint64
	err     error // that ended the writer
}

// NewWriter writes the header to w and returns a writer for the rows.
func NewWriter(w io.Writer, header Header) (*Writer, error) {
	if err := header.check(); err != nil {
		return nil, err
	}
	header.Vocab = slices.Clone(header.Vocab)
	out := &Writer{to: w, header: header, widths: codeWidths(header.Vocab)}
	if _, err := w.Write(header.encode()); err != nil {
		return nil, fmt.Errorf("writing the header of codes: %w", err)
	}
	return out, nil
}

// WriteRows appends codes [n, levels], row-major. It writes nothing and fails
// on a partial row, on a code outside its level's vocabulary and on more rows
// than the header announced; a failed write to the underlying file ends the
// writer.
func (w *Writer) WriteRows(codes []uint32) error {
	if w.err != nil {
		return w.err
	}
	levels := w.header.Levels()
	if len(codes)%levels != 0 {
		return fmt.Errorf("%d codes are not whole rows of %d levels", len(codes), levels)
	}
	n := uint64(len(codes) / levels)
	if w.header.Rows-w.rows < n {
		return fmt.Errorf("%d rows are more than the %d the header announced", w.rows+n, w.header.Rows)
	}
	for i, code := range codes {
		if level := i % levels; code >= w.header.Vocab[level] {
			return fmt.Errorf("row %d, level %d: code %d is outside the vocabulary of %d",
				w.rows+uint64(i/levels), level, code, w.header.Vocab[level])
		}
	}
	w.rows += n
	for full := int(w.header.blockRows()) * levels; len(codes) > 0; {
		taken := min(len(codes), full-len(w.waiting))
		w.waiting = append(w.waiting, codes[:taken]...)
		codes = codes[taken:]
		if len(w.waiting) == full {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the buffered codes as one block.
func (w *Writer) flush() error {
	w.packed = pack(w.packed[:0], w.waiting, w.widths)
	w.packed = binary.LittleEndian.AppendUint32(w.packed, crc32.Checksum(w.packed, castagnoli))
	w.waiting = w.waiting[:0]
	if _, err := w.to.Write(w.packed); err != nil {
		w.err = fmt.Errorf("writing codes: %w", err)
	}
	return w.err
}

// Close writes the last block; it does not close the underlying file. It fails
// when fewer rows came than the header announced.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if len(w.waiting) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.err = errors.New("the writer of codes is closed")
	if w.rows != w.header.Rows {
		return fmt.Errorf("%d rows were written but the header announced %d", w.rows, w.header.Rows)
	}
	return nil
}
