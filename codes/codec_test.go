package codes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func encode(t *testing.T, header Header, codes []uint32) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRows(codes); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(content []byte) (*Reader, error) {
	return NewReader(bytes.NewReader(content), int64(len(content)))
}

// randomCodes draws rows within vocab; each level's largest code is among
// them when there are rows.
func randomCodes(random *rand.Rand, vocab []uint32, rows int) []uint32 {
	var codes []uint32
	for row := range rows {
		for _, v := range vocab {
			code := uint32(random.Uint64N(uint64(v)))
			if row == rows/2 {
				code = v - 1
			}
			codes = append(codes, code)
		}
	}
	return codes
}

// golden is written by hand from the format's description: vocabularies 5, 1
// and 4 take 3, 0 and 2 bits; blocks of 2 rows; 3 rows.
func golden() []byte {
	header := "GVQC\x01\x00\x00\x00" + "\x03\x00\x00\x00" + "\x02\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" +
		"0123456789abcdef0123456789ABCDEF" + "\x05\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00"
	// Row 0 is 4,0,1: bits 001 10; row 1 is 3,0,2: bits 110 01 (lowest first).
	// Bits in order 0011 0110 | 01: bytes 0b01101100, 0b10.
	blocks := []string{"\x6c\x02", "\x12"} // row 2 is 2,0,2: bits 010 01 = 0b10010
	out := appendSum([]byte(header))
	for _, block := range blocks {
		out = append(out, appendSum([]byte(block))...)
	}
	return out
}

func appendSum(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

var goldenCodes = []uint32{4, 0, 1, 3, 0, 2, 2, 0, 2}

func goldenHeader() Header {
	h := Header{Vocab: []uint32{5, 1, 4}, Rows: 3, BlockRows: 2}
	copy(h.Fingerprint[:], "0123456789abcdef0123456789ABCDEF")
	return h
}

func TestGoldenBytes(t *testing.T) {
	if got := encode(t, goldenHeader(), goldenCodes); !bytes.Equal(got, golden()) {
		t.Errorf("got  %x\nwant %x", got, golden())
	}
	r, err := open(golden())
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Header(); h.Rows != 3 || h.BlockRows != 2 || h.Fingerprint != goldenHeader().Fingerprint ||
		!slices.Equal(h.Vocab, goldenHeader().Vocab) {
		t.Errorf("header %+v", h)
	}
	got := make([]uint32, 9)
	if err := r.ReadRows(0, 3, got); err != nil || !slices.Equal(got, goldenCodes) {
		t.Errorf("codes %v, %v", got, err)
	}
	// The CRC-32C of "123456789" is published with the polynomial (RFC 3720).
	if got := crc32.Checksum([]byte("123456789"), castagnoli); got != 0xe3069283 {
		t.Errorf("the checksum is %#x, not CRC-32C", got)
	}
}

func TestRoundTripOverRandomVocabularies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	vocabs := [][]uint32{{1}, {1, 1}, {2}, {3}, {256}, {257}, {1 << 31}, {1<<32 - 1}, {1000, 1, 17, 1 << 20}, {1<<32 - 1, 1<<32 - 1, 2}}
	for range 20 {
		vocab := make([]uint32, 1+random.IntN(9))
		for i := range vocab {
			vocab[i] = 1 + uint32(random.Uint64N(1<<(1+random.IntN(31))))
		}
		vocabs = append(vocabs, vocab)
	}
	for _, vocab := range vocabs {
		for _, rows := range []int{0, 1, 7, 8, 64, 65} {
			header := Header{Vocab: vocab, Rows: uint64(rows), BlockRows: uint32(1 + random.IntN(20))}
			codes := randomCodes(random, vocab, rows)
			content := encode(t, header, codes)
			if size, err := header.Size(); err != nil || size != int64(len(content)) {
				t.Fatalf("%v: %d bytes, predicted %d, %v", header, len(content), size, err)
			}
			r, err := open(content)
			if err != nil {
				t.Fatal(err)
			}
			for range 8 {
				start := random.IntN(rows + 1)
				n := random.IntN(rows - start + 1)
				got := make([]uint32, n*len(vocab))
				if err := r.ReadRows(uint64(start), n, got); err != nil {
					t.Fatal(err)
				}
				if want := codes[start*len(vocab) : (start+n)*len(vocab)]; !slices.Equal(got, want) {
					t.Fatalf("%v: rows %d+%d are %v, want %v", header, start, n, got, want)
				}
			}
		}
	}
}

func TestSizeIsWhatTheBitsSay(t *testing.T) {
	// 10000 rows of 3 + 10 bits: two blocks of 4096 rows in 6656 bytes, one of
	// 1808 in 2938, three checksums; a header of 56 + 8 + 4.
	size, err := Header{Vocab: []uint32{8, 1000}, Rows: 10000}.Size()
	if want := int64(2*6656 + 2938 + 3*4 + 68); err != nil || size != want {
		t.Errorf("%d bytes, %v, want %d", size, err, want)
	}
	if _, err := (Header{Vocab: []uint32{1<<32 - 1}, Rows: math.MaxUint64 - 1}).Size(); err == nil {
		t.Error("a size above int64 was accepted")
	}
}

type brokenDisk struct{ room int }

func (d *brokenDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	for want, header := range map[string]Header{
		"1 to 4096 levels":          {},
		"level 1 has an empty":      {Vocab: []uint32{2, 0}},
		"at most 1048576 rows":      {Vocab: []uint32{2}, BlockRows: 1<<20 + 1},
		"use smaller blocks":        {Vocab: slices.Repeat([]uint32{1 << 31}, 4096), BlockRows: 1 << 20},
		"1 to 4096 levels, not 409": {Vocab: make([]uint32, 4097)},
	} {
		if _, err := NewWriter(new(bytes.Buffer), header); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	w, err := NewWriter(new(bytes.Buffer), goldenHeader())
	if err != nil {
		t.Fatal(err)
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	expect(w.WriteRows([]uint32{1, 0}), "2 codes are not whole rows of 3")
	if err := w.WriteRows([]uint32{1, 0, 0}); err != nil {
		t.Fatal(err)
	}
	expect(w.WriteRows([]uint32{1, 0, 0, 1, 0, 4}), "row 2, level 2: code 4 is outside the vocabulary of 4")
	expect(w.WriteRows(make([]uint32, 9)), "4 rows are more than the 3")
	expect(w.Close(), "1 rows were written but the header announced 3")
	expect(w.WriteRows([]uint32{1, 0, 0}), "closed")
	expect(w.Close(), "closed")

	w, err = NewWriter(&brokenDisk{room: 100}, Header{Vocab: []uint32{1 << 31}, Rows: 100, BlockRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	expect(w.WriteRows(make([]uint32, 10)), "disk full")
	expect(w.WriteRows(make([]uint32, 1)), "disk full")
	expect(w.Close(), "disk full")
}

func TestReaderErrors(t *testing.T) {
	at := func(offset int, replacement string) []byte {
		content := golden()
		copy(content[offset:], replacement)
		return content
	}
	// resealed gives a changed header its right checksum again.
	resealed := func(offset int, replacement string) []byte {
		content := at(offset, replacement)
		copy(content[68:], appendSum(slices.Clone(content[:68]))[68:])
		return content
	}
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":            {nil, "not a file of codes"},
		"other magic":      {at(0, "RIFF"), "not a file of codes"},
		"newer version":    {at(4, "\x02"), "format version 2, this program reads up to 1"},
		"version 0":        {at(4, "\x00"), "never existed"},
		"flags":            {at(6, "\x80"), "unknown flags 0x80"},
		"no levels":        {at(8, "\x00"), "0 levels"},
		"many levels":      {at(8, "\xff\xff\xff\xff"), "4294967295 levels"},
		"short header":     {golden()[:40], "truncated"},
		"short vocabulary": {golden()[:60], "less than its header of 72"},
		"flipped vocab":    {at(57, "\x01"), "its checksum does not match"},
		"no block rows":    {resealed(12, "\x00"), "blocks of 0 rows"},
		"vocabulary 0":     {resealed(56, "\x00"), "empty vocabulary"},
		"rows overflow":    {resealed(16, "\xf0\xff\xff\xff\xff\xff\xff\xff"), "damaged"},
		"more rows":        {resealed(16, "\x05"), "truncated"},
		"fewer rows":       {resealed(16, "\x01"), "after its end"},
		"truncated":        {golden()[:80], "truncated: 80 of 83 bytes"},
		"too long":         {append(golden(), 0), "1 bytes after its end"},
	} {
		if _, err := open(test.content); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestReadRowsFindsDamage(t *testing.T) {
	dst := make([]uint32, 9)
	damaged := func(change func(content []byte)) *Reader {
		content := golden()
		change(content)
		r, err := open(content)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for bit := range 8 * 11 {
		r := damaged(func(content []byte) { content[72+bit/8] ^= 1 << (bit % 8) })
		expect(r.ReadRows(0, 3, dst), "damaged")
	}
	r := damaged(func(content []byte) { content[78] ^= 1 })
	expect(r.ReadRows(2, 1, dst[:3]), "rows 2 to 2 of the file of codes are damaged: the checksum of block 1")
	if err := r.ReadRows(0, 2, dst[:6]); err != nil {
		t.Errorf("an undamaged block: %v", err)
	}
	r = damaged(func(content []byte) { copy(content[78:], appendSum([]byte{0x15})) })
	expect(r.ReadRows(0, 3, dst), "row 2, level 0: code 5 is outside the vocabulary of 5")
	r = damaged(func(content []byte) { copy(content[78:], appendSum([]byte{0x32})) })
	expect(r.ReadRows(0, 3, dst), "zero bits")

	r = damaged(func([]byte) {})
	expect(r.ReadRows(0, 4, make([]uint32, 12)), "outside the file of 3 rows")
	expect(r.ReadRows(4, 0, nil), "outside the file")
	expect(r.ReadRows(1<<63, 1, dst[:3]), "outside the file")
	expect(r.ReadRows(0, -1, nil), "outside the file")
	expect(r.ReadRows(0, 2, dst), "do not fit a slice of 9")
}

// FuzzReader checks that no file panics, and that writing the codes of a
// readable file gives the file again. Checksums are corrected first, or the
// fuzzer would not get past them.
func FuzzReader(f *testing.F) {
	f.Add(golden())
	f.Add(golden()[:70])
	f.Add(Header{Vocab: []uint32{1, 1}, Rows: 0}.encode())
	f.Add(append(Header{Vocab: []uint32{1}, Rows: 5}.encode(), 0, 0, 0, 0))
	f.Add(append(Header{Vocab: []uint32{255}, Rows: 2}.encode(), "\x01\x020000"...))
	f.Fuzz(func(t *testing.T, content []byte) {
		content = slices.Clone(content)
		if _, err := open(content); err != nil && len(content) >= fixedBytes {
			body := fixedBytes + 4*int(min(binary.LittleEndian.Uint32(content[8:]), MaxLevels))
			if len(content) >= body+checksumBytes {
				binary.LittleEndian.PutUint32(content[body:], crc32.Checksum(content[:body], castagnoli))
			}
		}
		r, err := open(content)
		if err != nil || r.header.Rows > 1<<16 || r.header.Rows*uint64(r.header.Levels()) > 1<<16 {
			return
		}
		offset := r.header.headerBytes()
		for left := int(r.header.Rows); left > 0; left -= int(r.header.blockRows()) {
			size := int(r.header.blockBytes(min(left, int(r.header.blockRows())))) - checksumBytes
			binary.LittleEndian.PutUint32(content[offset+size:], crc32.Checksum(content[offset:offset+size], castagnoli))
			offset += size + checksumBytes
		}
		codes := make([]uint32, int(r.header.Rows)*r.header.Levels())
		if r.ReadRows(0, int(r.header.Rows), codes) != nil {
			return
		}
		if again := encode(t, r.Header(), codes); !bytes.Equal(again, content) {
			t.Fatalf("read   %x\nwrites %x", content, again)
		}
	})
}
