package codes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// writeRows stores codes with Create, many rows at a time.
func writeRows(t testing.TB, name string, vocab []int, codes []uint32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := Create(path, Content{Vocab: vocab, Rows: len(codes) / len(vocab)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for part := range slices.Chunk(codes, 5003*len(vocab)) {
		if err := w.WriteRows(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readCodes(t testing.TB, path string) (codes []uint32, levels int) {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Path() != path {
		t.Errorf("path %q", c.Path())
	}
	codes = make([]uint32, c.Len()*c.Levels())
	if err := c.Rows(0, c.Len(), codes); err != nil {
		t.Fatal(err)
	}
	if half := c.Len() / 2; !slices.Equal(rowsOf(t, c, half, c.Len()-half), codes[half*c.Levels():]) {
		t.Error("a part of the rows differs from the whole")
	}
	return codes, c.Levels()
}

func rowsOf(t testing.TB, c *File, start, n int) []uint32 {
	t.Helper()
	codes := make([]uint32, n*c.Levels())
	if err := c.Rows(start, n, codes); err != nil {
		t.Fatal(err)
	}
	return codes
}

func TestCodesRoundTrip(t *testing.T) {
	for _, vocab := range [][]int{{16}, {256, 256, 65_536}, {65_537, 4}, {1 << 30}} {
		var codes []uint32
		for i := range 10_007 {
			for level, size := range vocab {
				codes = append(codes, uint32(i*7919*(level+1)%size))
			}
		}
		for _, name := range []string{"c.npy", "c.parquet", "c.jsonl", "c.gvq"} {
			got, levels := readCodes(t, writeRows(t, name, vocab, codes))
			if levels != len(vocab) || !slices.Equal(got, codes) {
				t.Errorf("%s with vocabulary %v: codes differ", name, vocab)
			}
		}
	}
}

func TestCodesGolden(t *testing.T) {
	codes := []uint32{1, 2, 300, 4}
	for _, test := range []struct {
		name  string
		vocab []int
		want  string
	}{
		{"c.jsonl", []int{512, 8}, "{\"row\":0,\"codes\":[1,2]}\n{\"row\":1,\"codes\":[300,4]}\n"},
		{"c.npy", []int{512, 65_536}, "\x93NUMPY\x01\x00\x76\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2), }" +
			strings.Repeat(" ", 58) + "\n\x01\x00\x02\x00\x2c\x01\x04\x00"},
		{"c.npy", []int{512, 65_537}, "\x93NUMPY\x01\x00\x76\x00{'descr': '<u4', 'fortran_order': False, 'shape': (2, 2), }" +
			strings.Repeat(" ", 58) + "\n\x01\x00\x00\x00\x02\x00\x00\x00\x2c\x01\x00\x00\x04\x00\x00\x00"},
	} {
		got, err := os.ReadFile(writeRows(t, test.name, test.vocab, codes))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, want %q, %v", test.name, got, test.want, err)
		}
	}
}

func TestCodesFromNumPyIntegers(t *testing.T) {
	order := map[byte]binary.AppendByteOrder{'<': binary.LittleEndian, '>': binary.BigEndian, '|': binary.LittleEndian}
	for _, descr := range []string{"|u1", "<u2", ">u2", "<u4", ">u4", "<i4", ">i4", "<i8", ">i8"} {
		var data []byte
		for _, code := range []uint64{0, 5, 250, 7} {
			switch descr[2] {
			case '1':
				data = append(data, byte(code))
			case '2':
				data = order[descr[0]].AppendUint16(data, uint16(code))
			case '4':
				data = order[descr[0]].AppendUint32(data, uint32(code))
			case '8':
				data = order[descr[0]].AppendUint64(data, code)
			}
		}
		for shape, levels := range map[string]int{"(2, 2)": 2, "(4,)": 1, "(4, 1)": 1} {
			got, gotLevels := readCodes(t, writeFile(t, "c.npy", npyBytes(npyDict(descr, shape, false), data)))
			if gotLevels != levels || !slices.Equal(got, []uint32{0, 5, 250, 7}) {
				t.Errorf("%s %s: %v in %d levels", descr, shape, got, gotLevels)
			}
		}
	}
}

func TestOpenBadCodes(t *testing.T) {
	tests := []struct {
		name, file string
		content    []byte
		want       []string
	}{
		{"floats", "c.npy", npyBytes(npyDict("<f4", "(1, 1)", false), make([]byte, 4)), []string{"<f4", "uint16"}},
		{"4-d", "c.npy", npyBytes(npyDict("<u2", "(1, 1, 1, 1)", false), make([]byte, 2)), []string{"(1, 1, 1, 1)", "(rows, levels)"}},
		{"fortran", "c.npy", npyBytes(npyDict("<u2", "(2, 2)", true), make([]byte, 8)), []string{"ascontiguousarray"}},
		{"truncated", "c.npy", npyBytes(npyDict("<u2", "(2, 2)", false), make([]byte, 7)), []string{"truncated"}},
		{"a picture", "c.png", []byte("\x89PNG...."), []string{"no known format", "expected .npy, .parquet or .jsonl"}},
		{"archive", "c.npz", []byte("PK\x03\x04...."), []string{"no codes"}},
		{"not json", "c.jsonl", []byte("{\"row\":0,\"codes\":[1]}\noops\n"), []string{"row 1 of", `"oops"`}},
		{"negative json", "c.jsonl", []byte(`{"row":0,"codes":[-1]}`), []string{"row 0 of"}},
		{"null json", "c.jsonl", []byte(`{"row":0,"codes":[1,null]}`), []string{"row 0 of"}},
		{"ragged json", "c.jsonl", []byte("{\"row\":0,\"codes\":[1]}\n{\"row\":1,\"codes\":[1,2]}\n"), []string{"row 1 of", "2 codes", "have 1"}},
		{"missing row", "c.jsonl", []byte("{\"row\":0,\"codes\":[1]}\n{\"row\":2,\"codes\":[1]}\n"), []string{"row 1 of", "numbered 2"}},
		{"blank", "c.jsonl", []byte("\n\n"), []string{"no rows"}},
		{"shuffled", "c.parquet", parquetBytes(t, []shuffledRecord{{0, []int32{1}}, {2, []int32{1}}, {1, []int32{1}}}),
			[]string{"row 1 of", "numbered 2"}},
		{"negative parquet", "c.parquet", parquetBytes(t, []shuffledRecord{{0, []int32{1}}, {1, []int32{-1}}}), []string{"row 1 of", "no code"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			path := writeFile(t, test.file, test.content)
			_, err := Open(path)
			wantError(t, err, append(test.want, path)...)
			wantEmptyDir(t, os.Getenv("TMPDIR"))
		})
	}
	c, err := Open(writeFile(t, "c.npy", npyBytes(npyDict("<i4", "(2, 1)", false), []byte("\x01\x00\x00\x00\xff\xff\xff\xff"))))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, c.Rows(0, 2, make([]uint32, 2)), "row 1 of", "no code")
	wantError(t, c.Rows(0, 3, make([]uint32, 3)), "do not exist")
	wantError(t, c.Rows(0, 1, make([]uint32, 2)), "cannot hold")
	c.Close()
	wantError(t, c.Rows(0, 1, make([]uint32, 1)), "closed")
}

func TestWritersKeepNothingUnlessCommitted(t *testing.T) {
	for _, extension := range []string{".npy", ".parquet", ".jsonl"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "c"+extension)
		begin := func() RowWriter {
			w, err := Create(path, Content{Vocab: []int{4, 4}, Rows: 2})
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := begin()
		wantError(t, w.WriteRows([]uint32{1, 2, 3}), path, "no whole rows")
		wantError(t, w.WriteRows([]uint32{1, 2, 3, 4}), "code 4 of row 1, level 1", "vocabulary of 4")
		wantError(t, w.WriteRows(make([]uint32, 6)), "beyond the 2 announced")
		if err := w.WriteRows([]uint32{1, 2}); err != nil {
			t.Fatal(err)
		}
		wantError(t, w.Commit(), "2 rows were announced, 1 came")
		w.Abort()
		wantEmptyDir(t, dir)

		w = begin()
		if err := w.WriteRows([]uint32{1, 2, 3, 0}); err != nil {
			t.Fatal(err)
		}
		w.Abort()
		wantEmptyDir(t, dir)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Create(filepath.Join(dir, "c.txt"), Content{Vocab: []int{4}, Rows: 1})
	wantError(t, err, "c.txt has no extension for codes: use .npy, .parquet, .jsonl or .gvq")
	_, err = Create(filepath.Join(dir, "c.npy"), Content{Vocab: []int{4, 0}, Rows: 1})
	wantError(t, err, "level 1 has 0 codes")
	for _, name := range []string{"c.npy", "c.gvq"} {
		_, err = Create(filepath.Join(dir, name), Content{Rows: 1})
		wantError(t, err, name)
	}
	wantEmptyDir(t, dir)
}

func TestPackedFilesNameTheirTokenizer(t *testing.T) {
	for name, want := range map[string]bool{"c.gvq": true, "c.npy": false} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path, Content{Vocab: []int{4, 7}, Rows: 1, Cells: 2, Fingerprint: [32]byte{9}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteRows([]uint32{3, 6, 0, 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, ok := f.Fingerprint(); ok != want || ok && got != [32]byte{9} {
			t.Errorf("%s: fingerprint %v %v", name, got, ok)
		}
		if got := rowsOf(t, f, 0, 1); !slices.Equal(got, []uint32{3, 6, 0, 1}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	_, err := Open(writeFile(t, "c.gvq", []byte("no codes at all")))
	wantError(t, err, "c.gvq", "not a file of codes", "copy or encode it again")
}

// The codes of pictures have a dimension for cells, and one for levels where
// there are several; they read back as one row a picture.
func TestGridsOfCodes(t *testing.T) {
	for _, vocab := range [][]int{{300}, {300, 20}} {
		path := filepath.Join(t.TempDir(), "codes.npy")
		w, err := Create(path, Content{Vocab: vocab, Rows: 2, Cells: 6})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]uint32, 2*6*len(vocab))
		for i := range want {
			want[i] = uint32(i % 20)
		}
		if err := w.WriteRows(want); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		shape := map[int]string{1: "(2, 6)", 2: "(2, 6, 2)"}[len(vocab)]
		if !strings.Contains(string(content[:120]), "'shape': "+shape) {
			t.Errorf("header %q, want shape %s", content[:120], shape)
		}
		codes, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer codes.Close()
		got := make([]uint32, len(want))
		if err := codes.Rows(0, 2, got); err != nil || codes.Levels() != 6*len(vocab) || !slices.Equal(got, want) {
			t.Errorf("read %v (%v), want %v", got, err, want)
		}
	}
}

type shuffledRecord struct {
	Row   int64   `parquet:"row"`
	Codes []int32 `parquet:"codes,list"`
}

func parquetBytes(t testing.TB, records []shuffledRecord) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := parquet.Write(&out, records); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writeFile puts content under name in a fresh directory.
func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// npyBytes is a version 1 file with the given header dictionary and data.
func npyBytes(dict string, data []byte) []byte {
	head := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	text := dict + "\n"
	binary.LittleEndian.PutUint16(head[8:], uint16(len(text)))
	return append(append(head, text...), data...)
}

func npyDict(descr, shape string, fortran bool) string {
	order := "False"
	if fortran {
		order = "True"
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
}

// wantError checks that err is one sentence with every part in it.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has several lines", err)
	}
}

// wantEmptyDir checks that nothing was left in dir.
func wantEmptyDir(t testing.TB, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		t.Errorf("left behind: %s", entry.Name())
	}
}
