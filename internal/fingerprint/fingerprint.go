// Package fingerprint hashes the content of data, so that a run is resumed, and a
// model scored, with the data it began with.
package fingerprint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Hash collects texts and numbers. Their order and their bounds count: "ab", "c"
// and "a", "bc" differ.
type Hash struct {
	sum    hash.Hash
	buffer []byte
}

// New returns a hash of nothing.
func New() *Hash { return &Hash{sum: sha256.New()} }

// Text adds a text.
func (h *Hash) Text(text string) {
	h.Number(uint64(len(text)))
	h.buffer = append(h.buffer, text...)
	h.flush(1 << 12)
}

// Number adds a number.
func (h *Hash) Number(n uint64) {
	h.buffer = binary.AppendUvarint(h.buffer, n)
	h.flush(1 << 12)
}

// flush hashes the buffer once it holds at least so many bytes.
func (h *Hash) flush(least int) {
	if len(h.buffer) >= least {
		h.sum.Write(h.buffer)
		h.buffer = h.buffer[:0]
	}
}

// String is the fingerprint of the data so far: 32 hexadecimal digits.
func (h *Hash) String() string {
	h.flush(0)
	return hex.EncodeToString(h.sum.Sum(nil)[:16])
}
