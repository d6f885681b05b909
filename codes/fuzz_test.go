package codes

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/internal/memorytest"
)

// FuzzOpen opens files of codes in formats of other programs.
func FuzzOpen(f *testing.F) {
	extensions := []string{".npy", ".jsonl", ".parquet"}
	for i, extension := range extensions {
		content, err := os.ReadFile(writeRows(f, "x"+extension, []int{4, 3}, []uint32{0, 1, 3, 2}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, uint8(i))
	}
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte, kind uint8) {
		path := filepath.Join(dir, "x"+extensions[int(kind)%len(extensions)])
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		defer memorytest.Bound(t, memorytest.Most/2)()
		c, err := Open(path)
		if err != nil {
			return
		}
		defer c.Close()
		if c.Len() < 0 || c.Levels() < 1 {
			t.Fatalf("accepted %d rows of %d codes", c.Len(), c.Levels())
		}
		if c.Len() > 0 {
			_ = c.Rows(c.Len()-1, 1, make([]uint32, c.Levels())) // its page may be damaged
		}
	})
}

// usualCells are those of small pictures.
const usualCells = 1 << 16

// FuzzPictureSize decodes files of all sizes that a header can state: no small file takes a gigabyte, or long.
func FuzzPictureSize(f *testing.F) {
	f.Add(uint32(20), uint32(20), uint32(2), uint8(1), uint32(32), []byte("payload"))
	f.Add(uint32(1<<24), uint32(1<<24), uint32(1<<12), uint8(1), uint32(16), []byte{})
	f.Add(uint32(1<<14), uint32(1<<14), uint32(2), uint8(1), uint32(1), []byte{})
	f.Add(uint32(1<<24), uint32(4), uint32(1), uint8(1), uint32(1<<20), []byte("\x12\x34"))
	f.Fuzz(func(t *testing.T, width, height, factor uint32, levels uint8, vocab uint32, payload []byte) {
		file := append([]byte(PictureMagic), plainVersion)
		for _, n := range []uint32{width, height, factor, uint32(levels)} {
			file = binary.AppendUvarint(file, uint64(n))
		}
		for range levels {
			file = binary.AppendUvarint(file, uint64(vocab))
		}
		id := identity([32]byte{}, nil)
		file = appendSum(append(append(file, id[:]...), payload...))
		if cells := uint64(width) * uint64(height) * uint64(levels); cells > usualCells && len(payload) > 2 && crc32.ChecksumIEEE(file)%256 > 0 {
			return // large grids are slow: one in many
		}
		check := memorytest.Bound(t, memorytest.Most)
		p, err := Decode(bytes.NewReader(file), [32]byte{}, nil)
		check()
		if err == nil && len(p.Codes) != p.GridWidth()*p.GridHeight()*len(p.Vocab) {
			t.Errorf("%d codes in a grid of %d x %d", len(p.Codes), p.GridWidth(), p.GridHeight())
		}
	})
}
