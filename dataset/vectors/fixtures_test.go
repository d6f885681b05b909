package vectors

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/rowfile"
)

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

// encodeFloats stores values as a NumPy type; halves must be exact multiples
// of 1/4 below 8 in size.
func encodeFloats(descr string, values []float32) []byte {
	order, _ := rowfile.ByteOrder(descr)
	var out []byte
	for _, v := range values {
		switch descr[1:] {
		case "f2":
			out = order.(binary.AppendByteOrder).AppendUint16(out, halfOf(v))
		case "f4":
			out = order.(binary.AppendByteOrder).AppendUint32(out, math.Float32bits(v))
		case "f8":
			out = order.(binary.AppendByteOrder).AppendUint64(out, math.Float64bits(float64(v)))
		}
	}
	return out
}

// halfOf searches the half that means v; a slow independent reference.
func halfOf(v float32) uint16 {
	for h := range 1 << 16 {
		exponent, fraction := (h>>10)&31, float64(h&1023)
		x := math.Ldexp(1+fraction/1024, exponent-15)
		if exponent == 0 {
			x = math.Ldexp(fraction/1024, -14)
		}
		if h>>15 == 1 {
			x = -x
		}
		if exponent < 31 && float32(x) == v {
			return uint16(h)
		}
	}
	panic("not a half")
}

// zipBytes is an archive of members, stored or deflated.
func zipBytes(t testing.TB, method uint16, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		f.Write(content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// mustOpen opens path and closes it after the test.
func mustOpen(t testing.TB, path string, opt Options) *Vectors {
	t.Helper()
	v, err := Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func allRows(t testing.TB, v *Vectors) []float32 {
	t.Helper()
	values := make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), values); err != nil {
		t.Fatal(err)
	}
	return values
}

// writeVectors stores values with Create.
func writeVectors(t testing.TB, name string, dim int, values []float32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := Create(path, dim, len(values)/dim)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.WriteRows(values); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
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
