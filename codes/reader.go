package codes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// Reader reads rows of codes from any place in a file. Its methods may be
// called at the same time from several goroutines.
type Reader struct {
	from   io.ReaderAt
	header Header
	widths []int
}

// NewReader checks the header of the file of size bytes behind r. It fails on
// anything but a whole file of codes of a version it knows; the rows' own
// checksums are verified as they are read.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	header, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	if err := header.check(); err != nil {
		return nil, fmt.Errorf("the header of codes is damaged: %w", err)
	}
	want, err := header.Size()
	if err != nil {
		return nil, fmt.Errorf("the header of codes is damaged: %w", err)
	}
	if size < want {
		return nil, fmt.Errorf("the file of codes is truncated: %d of %d bytes", size, want)
	}
	if size > want {
		return nil, fmt.Errorf("the file of codes has %d bytes after its end", size-want)
	}
	return &Reader{from: r, header: header, widths: codeWidths(header.Vocab)}, nil
}

func readHeader(r io.ReaderAt, size int64) (Header, error) {
	var header Header
	fixed := make([]byte, min(max(size, 0), fixedBytes))
	if err := readFull(r, fixed, 0); err != nil {
		return header, err
	}
	if len(fixed) < len(magic) || string(fixed[:len(magic)]) != magic {
		return header, fmt.Errorf("not a file of codes: it does not start with %s", magic)
	}
	if len(fixed) < fixedBytes {
		return header, fmt.Errorf("the file of codes is truncated: %d bytes are less than its header", size)
	}
	if version := binary.LittleEndian.Uint16(fixed[4:]); version > formatVersion {
		return header, fmt.Errorf("the file of codes has format version %d, this program reads up to %d: use a newer one", version, formatVersion)
	} else if version != formatVersion {
		return header, fmt.Errorf("the file of codes has format version %d, which never existed", version)
	}
	if flags := binary.LittleEndian.Uint16(fixed[6:]); flags != 0 {
		return header, fmt.Errorf("the file of codes has the unknown flags %#x: use a newer program", flags)
	}
	levels := binary.LittleEndian.Uint32(fixed[8:])
	if levels == 0 || levels > MaxLevels {
		return header, fmt.Errorf("the header of codes is damaged: %d levels, not 1 to %d", levels, MaxLevels)
	}
	header.Vocab = make([]uint32, levels)
	all := make([]byte, header.headerBytes())
	if size < int64(len(all)) {
		return header, fmt.Errorf("the file of codes is truncated: %d bytes are less than its header of %d", size, len(all))
	}
	if err := readFull(r, all, 0); err != nil {
		return header, err
	}
	body, sum := all[:len(all)-checksumBytes], binary.LittleEndian.Uint32(all[len(all)-checksumBytes:])
	if crc32.Checksum(body, castagnoli) != sum {
		return header, errors.New("the header of codes is damaged: its checksum does not match")
	}
	for level := range header.Vocab {
		header.Vocab[level] = binary.LittleEndian.Uint32(body[fixedBytes+4*level:])
	}
	header.BlockRows = binary.LittleEndian.Uint32(body[12:])
	if header.BlockRows == 0 {
		return header, errors.New("the header of codes is damaged: blocks of 0 rows")
	}
	header.Rows = binary.LittleEndian.Uint64(body[rowsOffset:])
	copy(header.Fingerprint[:], body[rowsOffset+8:])
	return header, nil
}

// Header returns the header of the file.
func (r *Reader) Header() Header {
	header := r.header
	header.Vocab = slices.Clone(header.Vocab)
	return header
}

// ReadRows reads n rows from row start on into dst, which has length n times
// levels and is row-major. It fails on rows outside the file, on a block
// whose checksum does not match and on a code outside its vocabulary, naming
// the place; dst is then undefined.
func (r *Reader) ReadRows(start uint64, n int, dst []uint32) error {
	levels := r.header.Levels()
	if n < 0 || start > r.header.Rows || uint64(n) > r.header.Rows-start {
		return fmt.Errorf("%d rows from row %d on are outside the file of %d rows", n, start, r.header.Rows)
	}
	if len(dst)%levels != 0 || len(dst)/levels != n {
		return fmt.Errorf("%d rows of %d levels do not fit a slice of %d codes exactly", n, levels, len(dst))
	}
	var block []byte
	for blockRows := uint64(r.header.blockRows()); n > 0; {
		number, within := start/blockRows, start%blockRows
		rows := int(min(blockRows, r.header.Rows-number*blockRows))
		taken := min(n, rows-int(within))
		var err error
		if block, err = r.readBlock(block, number, rows); err != nil {
			return err
		}
		codes := dst[:taken*levels]
		unpack(codes, block, int64(within)*int64(r.header.BitsPerRow()), r.widths)
		for i, code := range codes {
			if level := i % levels; code >= r.header.Vocab[level] {
				return fmt.Errorf("row %d, level %d: code %d is outside the vocabulary of %d",
					start+uint64(i/levels), level, code, r.header.Vocab[level])
			}
		}
		dst = dst[len(codes):]
		start += uint64(taken)
		n -= taken
	}
	return nil
}

// readBlock returns the checked bytes of a block, without its checksum,
// reusing buffer where it is large enough.
func (r *Reader) readBlock(buffer []byte, number uint64, rows int) ([]byte, error) {
	size := r.header.blockBytes(rows)
	offset := int64(r.header.headerBytes()) + int64(number)*r.header.blockBytes(int(r.header.blockRows()))
	buffer = slices.Grow(buffer[:0], int(size))[:size]
	if err := readFull(r.from, buffer, offset); err != nil {
		return nil, err
	}
	data, sum := buffer[:size-checksumBytes], binary.LittleEndian.Uint32(buffer[size-checksumBytes:])
	first := number * uint64(r.header.blockRows())
	if crc32.Checksum(data, castagnoli) != sum {
		return nil, fmt.Errorf("rows %d to %d of the file of codes are damaged: the checksum of block %d does not match",
			first, first+uint64(rows)-1, number)
	}
	if used := int64(rows) * int64(r.header.BitsPerRow()) % 8; used > 0 && data[len(data)-1]>>used != 0 {
		return nil, fmt.Errorf("rows %d to %d of the file of codes are damaged: block %d does not end in zero bits",
			first, first+uint64(rows)-1, number)
	}
	return data, nil
}

// readFull reads exactly len(p) bytes at offset.
func readFull(r io.ReaderAt, p []byte, offset int64) error {
	if n, err := r.ReadAt(p, offset); n < len(p) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading codes at byte %d: %w", offset, err)
	}
	return nil
}
