package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bytesOf is what write writes.
func bytesOf(t testing.TB, write func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// resealed gives changed content its right checksum.
func resealed(content []byte) []byte {
	body := slices.Clone(content[:len(content)-storageSum])
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}

func smallIVF(t testing.TB) []byte {
	t.Helper()
	ivf, err := NewIVF(t.Context(), InnerProduct, normals(1, 20*3), 20, 3, IVFOptions{Lists: 4, Probe: 2})
	if err != nil {
		t.Fatal(err)
	}
	return bytesOf(t, ivf.write)
}

func smallHNSW(t testing.TB) []byte {
	t.Helper()
	rows := append(normals(1, 20*3), normals(1, 2*3)...) // the last two equal the first two
	h := newHNSW(t, Euclidean, rows, 3, HNSWOptions{M: 4, EfConstruction: 10, EfSearch: 5, Seed: 1})
	if h.top == 0 {
		t.Fatal("the example has no upper layer")
	}
	return bytesOf(t, h.write)
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	const n, d, k = 400, 6, 5
	rows, x := normals(1, n*d), normals(2, 30*d)
	for _, metric := range metrics {
		ivf, err := NewIVF(t.Context(), metric, rows, n, d, IVFOptions{Probe: 3})
		if err != nil {
			t.Fatal(err)
		}
		h := newHNSW(t, metric, rows, d, HNSWOptions{M: 5, EfConstruction: 30, EfSearch: 20, Seed: 9})
		ivfPath, hnswPath := filepath.Join(dir, "a.ivf"), filepath.Join(dir, "a.hnsw")
		if err := ivf.Save(ivfPath); err != nil {
			t.Fatal(err)
		}
		if err := h.Save(hnswPath); err != nil {
			t.Fatal(err)
		}
		ivf2, err := LoadIVF(ivfPath)
		if err != nil {
			t.Fatal(err)
		}
		h2, err := LoadHNSW(hnswPath)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]Searcher{{ivf, ivf2}, {h, h2}} {
			if !slices.Equal(search(pair[0], x, k, 0), search(pair[1], x, k, 0)) {
				t.Errorf("%T answers otherwise after loading", pair[0])
			}
			if pair[1].Len() != n || pair[1].Dim() != d || pair[1].Metric() != metric || !slices.Equal(pair[1].Row(7), pair[0].Row(7)) {
				t.Errorf("%T has other rows after loading", pair[0])
			}
		}
		if ivf2.Probe() != 3 || h2.Options() != h.Options() {
			t.Errorf("options changed: %d, %+v", ivf2.Probe(), h2.Options())
		}
		if _, err := LoadIVF(hnswPath); err == nil || !strings.Contains(err.Error(), hnswPath+": the index is of kind 2, not IVF") {
			t.Errorf("loading the wrong kind: %v", err)
		}
	}
	if _, err := LoadHNSW(filepath.Join(dir, "absent")); !os.IsNotExist(err) {
		t.Errorf("an absent file: %v", err)
	}
	if err := newHNSW(t, Euclidean, rows, d, HNSWOptions{}).Save(filepath.Join(dir, "absent", "x")); err == nil {
		t.Error("a file in a directory that does not exist was written")
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	read := map[string]func([]byte) error{
		"IVF":  func(b []byte) error { _, err := readIVF(bytes.NewReader(b), int64(len(b))); return err },
		"HNSW": func(b []byte) error { _, err := readHNSW(bytes.NewReader(b), int64(len(b))); return err },
	}
	contents := map[string][]byte{"IVF": smallIVF(t), "HNSW": smallHNSW(t)}
	for kind, content := range contents {
		for at := range content {
			broken := slices.Clone(content)
			broken[at] ^= 0x10
			if read[kind](broken) == nil {
				t.Fatalf("%s: a changed byte %d was accepted", kind, at)
			}
			if read[kind](content[:at]) == nil {
				t.Fatalf("%s: a file cut to %d bytes was accepted", kind, at)
			}
		}
		if err := read[kind](append(slices.Clone(content), 0)); err == nil {
			t.Errorf("%s: a byte after the end was accepted", kind)
		}
	}
	// Offsets: see storageHeader, ivfHead, hnswHead and the two Save.
	const ivfList = storageHeader + ivfHead + 4*3*4
	const hnswNode, hnswRow = storageHeader + hnswHead, storageHeader + hnswHead + 22*4
	const hnswLinks = hnswRow + 20*3*4
	for _, c := range []struct {
		kind  string
		at    int
		value []byte
		want  string
	}{
		{"IVF", 0, []byte("GVQX"), "does not start with GVQI"},
		{"IVF", 4, []byte{2}, "format version 2"},
		{"IVF", 6, []byte{2}, "of kind 2, not IVF"},
		{"IVF", 7, []byte{5}, "metric 5 does not exist"},
		{"IVF", 8, make([]byte, 8), "its shape is [0,3]"},
		{"IVF", 8, []byte{0xff, 0xff, 0xff, 0x7f}, "and should have"},
		{"IVF", 16, []byte{4}, "and should have"},
		{"IVF", storageHeader, []byte{0}, "0 lists of 20 rows"},
		{"IVF", storageHeader, []byte{21}, "21 lists of 20 rows"},
		{"IVF", storageHeader + 4, []byte{0}, "0 to look into"},
		{"IVF", storageHeader + ivfHead + 2, []byte{0xc0, 0x7f}, "row 0, column 0 is NaN"},
		{"IVF", ivfList, []byte{4}, "a list that does not exist"},
		{"IVF", ivfList + 20*4 + 2, []byte{0x80, 0x7f}, "damaged: added rows row 0, column 0"},
		{"HNSW", storageHeader, []byte{3}, "out of range"},
		{"HNSW", storageHeader + 4, []byte{0}, "an option is 0"},
		{"HNSW", storageHeader + 20, []byte{23}, "23 nodes of 22 rows"},
		{"HNSW", storageHeader + 28, []byte{20}, "entry 20"},
		{"HNSW", 8, []byte{0xff, 0xff, 0xff, 0x7f}, "too few for 2147483647 rows"},
		{"HNSW", hnswNode, []byte{1}, "nodes are out of order"},
		{"HNSW", hnswNode + 19*4, []byte{0}, "a node has no row"},
		{"HNSW", hnswRow + 2, []byte{0xc0, 0x7f}, "row 0 is not finite"},
		{"HNSW", hnswRow, make([]byte, 2*3*4), "two of its nodes are equal"},
		{"HNSW", hnswLinks, []byte{9}, "too many links"},
		{"HNSW", hnswLinks + 4, []byte{20}, "a link leads nowhere"},
		{"HNSW", hnswLinks + 4, make([]byte, 4), "a link leads nowhere"}, // node 0 to itself
	} {
		changed := slices.Clone(contents[c.kind])
		copy(changed[c.at:], c.value)
		if err := read[c.kind](resealed(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %x at %d: error %v, want one about %q", c.kind, c.value, c.at, err, c.want)
		}
	}
}

// tryFile gives content its right checksum and reads it as either index. What
// was read can be searched and extended, and writing it gives the file again.
func tryFile(t *testing.T, content []byte) {
	content = resealed(content)
	try := func(s Searcher, write func(io.Writer) error) {
		if !bytes.Equal(bytesOf(t, write), content) {
			t.Error("writing what was read gives another file")
		}
		x := slices.Clone(s.Row(s.Len() - 1))
		for _, item := range search(s, x, 3, 0) {
			if item != Missing && int(item) >= s.Len() {
				t.Errorf("found row %d of %d", item, s.Len())
			}
		}
		x[0]++
		if err := s.Add(x, 1); err != nil && !strings.Contains(err.Error(), "shorter") && finite(x) {
			t.Error(err)
		}
	}
	if ivf, err := readIVF(bytes.NewReader(content), int64(len(content))); err == nil {
		try(ivf, ivf.write)
	}
	if h, err := readHNSW(bytes.NewReader(content), int64(len(content))); err == nil {
		try(h, h.write)
	}
}

// FuzzLoad checks that no file panics.
func FuzzLoad(f *testing.F) {
	f.Add(smallIVF(f))
	f.Add(smallHNSW(f))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) >= storageSum && len(content) <= 1<<16 {
			tryFile(t, content)
		}
	})
}

// FuzzLoadChanged gets past the header more often: it changes good files.
func FuzzLoadChanged(f *testing.F) {
	files := [][]byte{smallIVF(f), smallHNSW(f)}
	f.Add(false, uint16(storageHeader), []byte{3})
	f.Add(true, uint16(storageHeader+hnswHead), []byte{0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, hnsw bool, at uint16, values []byte) {
		content := files[0]
		if hnsw {
			content = files[1]
		}
		content = slices.Clone(content)
		copy(content[int(at)%len(content):], values)
		tryFile(t, content)
	})
}
