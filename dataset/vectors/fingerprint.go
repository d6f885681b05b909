package vectors

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/gritvq/gritvq/internal/rowfile"
)

// fingerprintBlocks is how many 1 MiB blocks are hashed at most: 256 MiB.
const fingerprintBlocks = 256

// Fingerprint identifies the content: "sha256:..." of the shape and of every
// row as float32, independent of the file format. Above 256 MiB of
// float32 data only 256 blocks of 1 MiB are hashed, evenly spaced and including
// the first and the last; the prefix is then "sha256-sampled:", and a change
// between the sampled blocks goes unnoticed. The result is remembered.
func (v *Vectors) Fingerprint() (string, error) {
	v.fingerprintLock.Lock()
	known := v.fingerprint
	v.fingerprintLock.Unlock()
	if known != "" {
		return known, nil
	}
	hasher := v.newFingerprinter()
	err := overBlocks(context.Background(), v, hasher.blocks,
		func(_ int, values []float32) [sha256.Size]byte { return sha256Of(values) },
		func(_ int, digest [sha256.Size]byte) { hasher.add(digest) })
	if err != nil {
		return "", err
	}
	v.rememberFingerprint(hasher.sum())
	return hasher.sum(), nil
}

func (v *Vectors) rememberFingerprint(text string) {
	v.fingerprintLock.Lock()
	v.fingerprint = text
	v.fingerprintLock.Unlock()
}

// fingerprinter hashes the digests of blocks, so that blocks can be hashed in
// parallel.
type fingerprinter struct {
	blocks  []int        // those that count, ascending
	wanted  map[int]bool // nil when all do
	hash    hash.Hash
	sampled bool
}

func (v *Vectors) newFingerprinter() *fingerprinter {
	f := &fingerprinter{hash: sha256.New()}
	count := v.blockCount()
	if count <= fingerprintBlocks {
		f.blocks = v.allBlocks()
	} else {
		f.sampled, f.wanted = true, make(map[int]bool, fingerprintBlocks)
		for i := range fingerprintBlocks {
			block := i * (count - 1) / (fingerprintBlocks - 1)
			f.blocks = append(f.blocks, block)
			f.wanted[block] = true
		}
	}
	var shape [16]byte
	binary.LittleEndian.PutUint64(shape[:], uint64(v.rows))
	binary.LittleEndian.PutUint64(shape[8:], uint64(v.dim))
	f.hash.Write([]byte("gritvq vectors 1\n"))
	f.hash.Write(shape[:])
	return f
}

func (f *fingerprinter) wants(block int) bool { return f.wanted == nil || f.wanted[block] }

func (f *fingerprinter) add(digest [sha256.Size]byte) { f.hash.Write(digest[:]) }

func (f *fingerprinter) sum() string {
	kind := "sha256:"
	if f.sampled {
		kind = "sha256-sampled:"
	}
	return kind + hex.EncodeToString(f.hash.Sum(nil))
}

// sha256Of hashes values as little-endian float32.
func sha256Of(values []float32) [sha256.Size]byte {
	if rowfile.HostLittleEndian {
		return sha256.Sum256(rowfile.BytesOf(values))
	}
	little, _ := binary.Append(nil, binary.LittleEndian, values)
	return sha256.Sum256(little)
}
