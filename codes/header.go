// Package codes stores codes, the integers a tokenizer assigns to vectors and
// pictures.
//
// Open and Create choose the format of a file by its extension: .npy, .parquet,
// .jsonl, or the packed .gvq. Partial keeps the codes of an unfinished run. Encode
// and Decode store one picture, entropy-coded with a Model of its codes.
//
// # The packed format
//
// It is compact, detects damage and can be read from any row. A file is a
// header, then blocks of rows. All numbers are little-endian:
//
//	bytes  header
//	4      magic "GVQC"
//	2      format version, 1
//	2      flags, 0
//	4      levels L: codes in a row
//	4      rows in a block
//	8      rows in the file
//	32     fingerprint of the tokenizer
//	4 L    vocabulary of each level
//	4      CRC-32C of the header so far
//
// A block holds its rows one after another without gaps. A code of a level
// with vocabulary V takes ceil(log2 V) bits (none when V is 1), the lowest bit
// first, from the lowest bit of a byte up. Zero bits fill the block's last
// byte, and the CRC-32C of the block's bytes follows. Only the last block may
// have fewer rows than the header says.
package codes

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

const (
	magic         = "GVQC"
	formatVersion = 1
	fixedBytes    = 56 // header up to the vocabularies
	rowsOffset    = 16 // of the row count within the header
	checksumBytes = 4
	maxBlockBytes = 1 << 28 // a block is held in memory whole

	// MaxLevels is the largest number of codes in a row.
	MaxLevels = 4096
	// MaxBlockRows is the largest number of rows in a block.
	MaxBlockRows = 1 << 20
	// DefaultBlockRows is the block size where a header leaves it at 0.
	DefaultBlockRows = 4096
)

// castagnoli is the CRC-32C polynomial, which CPUs compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header describes a file of codes.
type Header struct {
	// Vocab is the number of codes of each level; its length is the number
	// of levels, 1 to MaxLevels.
	Vocab []uint32
	// Rows in the file.
	Rows uint64
	// BlockRows is the number of rows that are checked, and so read,
	// together, at most MaxBlockRows; 0 means DefaultBlockRows.
	BlockRows uint32
	// Fingerprint identifies the tokenizer the codes belong to.
	Fingerprint [32]byte
}

// Levels returns the number of codes in a row.
func (h Header) Levels() int { return len(h.Vocab) }

// BitsPerRow returns the bits a row takes in the file.
func (h Header) BitsPerRow() int {
	total := 0
	for _, vocab := range h.Vocab {
		total += codeBits(vocab)
	}
	return total
}

// Size returns the bytes of a file with this header. It fails on a header that
// NewWriter would refuse and on a size above int64.
func (h Header) Size() (int64, error) {
	if err := h.check(); err != nil {
		return 0, err
	}
	blocks := h.Rows / uint64(h.blockRows())
	last := h.Rows % uint64(h.blockRows())
	high, size := bits.Mul64(blocks, uint64(h.blockBytes(int(h.blockRows()))))
	if last > 0 {
		var carry uint64
		size, carry = bits.Add64(size, uint64(h.blockBytes(int(last))), 0)
		high += carry
	}
	size, carry := bits.Add64(size, uint64(h.headerBytes()), 0)
	if high+carry != 0 || size > math.MaxInt64 {
		return 0, fmt.Errorf("%d rows of %d bits do not fit into a file", h.Rows, h.BitsPerRow())
	}
	return int64(size), nil
}

func (h Header) check() error {
	if len(h.Vocab) == 0 || len(h.Vocab) > MaxLevels {
		return fmt.Errorf("a file of codes has 1 to %d levels, not %d", MaxLevels, len(h.Vocab))
	}
	for level, vocab := range h.Vocab {
		if vocab == 0 {
			return fmt.Errorf("level %d has an empty vocabulary", level)
		}
	}
	if h.BlockRows > MaxBlockRows {
		return fmt.Errorf("blocks have at most %d rows, not %d", MaxBlockRows, h.BlockRows)
	}
	if bytes := (int64(h.blockRows())*int64(h.BitsPerRow()) + 7) / 8; bytes > maxBlockBytes {
		return fmt.Errorf("a block of %d rows takes %d bytes, more than the %d allowed: use smaller blocks", h.blockRows(), bytes, maxBlockBytes)
	}
	return nil
}

func (h Header) blockRows() uint32 {
	if h.BlockRows == 0 {
		return DefaultBlockRows
	}
	return h.BlockRows
}

func (h Header) headerBytes() int { return fixedBytes + 4*len(h.Vocab) + checksumBytes }

// blockBytes returns the bytes of a block of this many rows, checksum
// included.
func (h Header) blockBytes(rows int) int64 {
	return (int64(rows)*int64(h.BitsPerRow())+7)/8 + checksumBytes
}

func (h Header) encode() []byte {
	out := append(make([]byte, 0, h.headerBytes()), magic...)
	out = binary.LittleEndian.AppendUint16(out, formatVersion)
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(h.Vocab)))
	out = binary.LittleEndian.AppendUint32(out, h.blockRows())
	out = binary.LittleEndian.AppendUint64(out, h.Rows)
	out = append(out, h.Fingerprint[:]...)
	for _, vocab := range h.Vocab {
		out = binary.LittleEndian.AppendUint32(out, vocab)
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// codeBits is ceil(log2 vocab).
func codeBits(vocab uint32) int { return bits.Len32(vocab - 1) }
