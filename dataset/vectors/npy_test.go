package vectors

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goldenNPY is numpy.save of array([[1, 2, 3], [-4, 5.5, 0.25]], '<f4'), byte
// by byte as NumPy writes it: version 1.0, header padded to 128 bytes.
var goldenNPY = "\x93NUMPY\x01\x00\x76\x00" +
	"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) + "\n" +
	"\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40" +
	"\x00\x00\x80\xc0\x00\x00\xb0\x40\x00\x00\x80\x3e"

var goldenValues = []float32{1, 2, 3, -4, 5.5, 0.25}

func TestNPYGolden(t *testing.T) {
	v := mustOpen(t, writeFile(t, "x.npy", []byte(goldenNPY)), Options{})
	if v.Len() != 2 || v.Dim() != 3 {
		t.Fatalf("shape [%d, %d]", v.Len(), v.Dim())
	}
	if got := allRows(t, v); !slices.Equal(got, goldenValues) {
		t.Fatalf("got %v", got)
	}
	written, err := os.ReadFile(writeVectors(t, "y.npy", 3, goldenValues))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != goldenNPY {
		t.Fatalf("Create wrote\n%q\nwant\n%q", written, goldenNPY)
	}
}

func TestNPYTypesAndOrders(t *testing.T) {
	for _, descr := range []string{"<f2", ">f2", "<f4", ">f4", "<f8", ">f8"} {
		for _, fortran := range []bool{false, true} {
			stored := goldenValues
			if fortran {
				stored = []float32{1, -4, 2, 5.5, 3, 0.25}
			}
			spoolDir := t.TempDir()
			v := mustOpen(t, writeFile(t, "x.npy", npyBytes(npyDict(descr, "(2, 3)", fortran), encodeFloats(descr, stored))),
				Options{SpoolDir: spoolDir})
			if got := allRows(t, v); !slices.Equal(got, goldenValues) {
				t.Errorf("%s fortran %v: got %v", descr, fortran, got)
			}
			got := make([]float32, 6)
			if err := v.Gather([]int{1, 0}, got); err != nil || !slices.Equal(got, []float32{-4, 5.5, 0.25, 1, 2, 3}) {
				t.Errorf("%s fortran %v: gathered %v, %v", descr, fortran, got, err)
			}
			wantEmptyDir(t, spoolDir)
		}
	}
}

// A block boundary inside the matrix must not shift rows or columns.
func TestNPYLargeFortranAndChunks(t *testing.T) {
	const rows, cols = 5000, 1700 // more than transposeBytes and chunkBytes
	data := make([]byte, 0, rows*cols*2)
	for j := range cols {
		for i := range rows {
			data = binary.LittleEndian.AppendUint16(data, uint16((i*7+j*13)%0x7c00)) // any finite half
		}
	}
	v := mustOpen(t, writeFile(t, "x.npy", npyBytes(npyDict("<f2", "(5000, 1700)", true), data)), Options{SpoolDir: t.TempDir()})
	got := make([]float32, 400*cols)
	for start := 0; start < rows; start += 400 {
		n := min(400, rows-start)
		if err := v.Rows(start, n, got[:n*cols]); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range cols {
				if want := halfToFloat32(uint16(((start+i)*7 + j*13) % 0x7c00)); got[i*cols+j] != want {
					t.Fatalf("row %d column %d: %v, want %v", start+i, j, got[i*cols+j], want)
				}
			}
		}
	}
}

func TestNPYVersions2And3(t *testing.T) {
	for _, version := range []byte{2, 3} {
		dict := npyDict("<f4", "(2L, 3L)", false) + "\n"
		head := append([]byte("\x93NUMPY"), version, 0)
		head = binary.LittleEndian.AppendUint32(head, uint32(len(dict)))
		content := append(append(head, dict...), encodeFloats("<f4", goldenValues)...)
		v := mustOpen(t, writeFile(t, "x.npy", content), Options{})
		if got := allRows(t, v); !slices.Equal(got, goldenValues) {
			t.Errorf("version %d: got %v", version, got)
		}
	}
}

func TestHalfToFloat32(t *testing.T) {
	for h := range 1 << 16 { // against the definition, for every half
		got := halfToFloat32(uint16(h))
		exponent, fraction := (h>>10)&31, float64(h&1023)
		var want float64
		switch {
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		default:
			want = math.Ldexp(1024+fraction, exponent-25)
		}
		if h>>15 == 1 {
			want = -want
		}
		if math.IsNaN(want) {
			if got == got {
				t.Fatalf("%#x: %v, want NaN", h, got)
			}
			continue
		}
		if math.Float32bits(got) != math.Float32bits(float32(want)) && !(want == 0 && got == 0 && math.Signbit(float64(got)) == (h>>15 == 1)) {
			t.Fatalf("%#x: %v, want %v", h, got, want)
		}
	}
}

func TestOpenBadNPY(t *testing.T) {
	six := encodeFloats("<f4", goldenValues)
	array := func(descr, shape string) []byte { return npyBytes(npyDict(descr, shape, false), six) }
	tests := []struct {
		name    string
		file    string
		content []byte
		want    []string
	}{
		{"empty", "x.npy", nil, []string{"empty"}},
		{"wrong magic", "x.npy", []byte("hello world, no array"), []string{"no NumPy array", `"hello wo"`, "numpy.save"}},
		{"unknown format", "x.dat", []byte("hello world"), []string{"no known format",
			".npy, .npz, .safetensors, .parquet, .fvecs, .bvecs, .csv, .tsv or .txt"}},
		{"pickle", "x.pkl", []byte("\x80\x04\x95stuff"), []string{"pickle", "never read"}},
		{"hdf5", "x.h5", []byte("\x89HDF\r\n\x1a\n"), []string{"HDF5"}},
		{"short magic", "x.npy", []byte("\x93NUM"), []string{"no NumPy array"}},
		{"header cut", "x.npy", []byte(goldenNPY[:40]), []string{"truncated", "header"}},
		{"only magic", "x.npy", []byte(goldenNPY[:7]), []string{"truncated", "header"}},
		{"data cut", "x.npy", []byte(goldenNPY[:len(goldenNPY)-5]), []string{"truncated", "needs 152 bytes", "found 147"}},
		{"version 9", "x.npy", []byte("\x93NUMPY\x09\x00\x10\x00                "), []string{"version 9"}},
		{"header overflow", "x.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), []string{"claims 4294967295 bytes", "damaged"}},
		{"not a dictionary", "x.npy", npyBytes("(1, 2)", nil), []string{"malformed", "not a dictionary"}},
		{"no descr", "x.npy", npyBytes("{'shape': (1, 2)}", nil), []string{"no 'descr'"}},
		{"no shape", "x.npy", npyBytes("{'descr': '<f4', 'fortran_order': False}", nil), []string{"no 'shape'"}},
		{"no order", "x.npy", npyBytes("{'descr': '<f4', 'shape': (2, 3)}", nil), []string{"no 'fortran_order'"}},
		{"negative shape", "x.npy", array("<f4", "(-2, 3)"), []string{"impossible 'shape'"}},
		{"overflowing shape", "x.npy", array("<f4", "(4611686018427387904, 4)"), []string{"impossible shape"}},
		{"overflowing integer", "x.npy", array("<f4", "(99999999999999999999, 4)"), []string{"malformed"}},
		{"nested header", "x.npy", npyBytes(strings.Repeat("(", 2000), nil), []string{"not a dictionary"}},
		{"unterminated", "x.npy", npyBytes("{'descr", nil), []string{"not a dictionary"}},
		{"objects", "x.npy", array("|O", "(2, 3)"), []string{"Python objects", "never read"}},
		{"int64", "x.npy", array("<i8", "(2, 3)"), []string{"integers (<i8)", "astype('float32')"}},
		{"uint8", "x.npy", array("|u1", "(2, 3)"), []string{"unsigned integers (|u1)"}},
		{"bool", "x.npy", array("|b1", "(2, 3)"), []string{"booleans (|b1)"}},
		{"complex", "x.npy", array("<c8", "(2, 3)"), []string{"complex numbers (<c8)"}},
		{"long double", "x.npy", array("<f16", "(2, 3)"), []string{"unsupported size (<f16)"}},
		{"bfloat16", "x.npy", array("<V2", "(2, 3)"), []string{"bfloat16"}},
		{"strings", "x.npy", array("<U4", "(2, 3)"), []string{"strings (<U4)"}},
		{"records", "x.npy", npyBytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", six), []string{"structured dtype"}},
		{"no order mark", "x.npy", array("=f4", "(2, 3)"), []string{"byte order", `"=f4"`}},
		{"bare type", "x.npy", array("f4", "(2, 3)"), []string{"byte order"}},
		{"odd type", "x.npy", array("??", "(2, 3)"), []string{"unknown type (??)"}},
		{"0-d", "x.npy", array("<f4", "()"), []string{"single number"}},
		{"1-d", "x.npy", array("<f4", "(6,)"), []string{"1-d array of shape (6,)", "reshape(-1, d)"}},
		{"3-d", "x.npy", array("<f4", "(1, 2, 3)"), []string{"3-d array of shape (1, 2, 3)", "reshape"}},
		{"no rows", "x.npy", array("<f4", "(0, 3)"), []string{"no rows (shape (0, 3))"}},
		{"no columns", "x.npy", array("<f4", "(2, 0)"), []string{"no columns (shape (2, 0))"}},
		{"too wide", "x.npy", array("<f4", "(1, 2000000)"), []string{"2000000 columns", "transpose"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, test.file, test.content)
			_, err := Open(context.Background(), path, Options{SpoolDir: t.TempDir()})
			wantError(t, err, append(test.want, path)...)
		})
	}
}

func TestOpenMissingAndDirectory(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(context.Background(), filepath.Join(dir, "no.npy"), Options{})
	wantError(t, err, "no.npy", "check the path")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	_, err = Open(context.Background(), dir, Options{})
	wantError(t, err, dir, "is a directory")
}

func TestFormatByContentBeforeExtension(t *testing.T) {
	v := mustOpen(t, writeFile(t, "x.fvecs", []byte(goldenNPY)), Options{})
	if got := allRows(t, v); !slices.Equal(got, goldenValues) {
		t.Fatalf("got %v", got)
	}
}

func TestCancelledConversionLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spoolDir := t.TempDir()
	path := writeFile(t, "x.npy", npyBytes(npyDict("<f4", "(2, 3)", true), encodeFloats("<f4", goldenValues)))
	if _, err := Open(ctx, path, Options{SpoolDir: spoolDir}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	wantEmptyDir(t, spoolDir)
}
