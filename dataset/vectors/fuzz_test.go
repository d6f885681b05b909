package vectors

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/internal/memorytest"
)

// readEnds reads the first and last row of v, opened from content: nothing may
// panic, and an accepted shape must be backed by bytes.
func readEnds(t *testing.T, content []byte, v *Vectors, err error) {
	if err != nil {
		return
	}
	defer v.Close()
	if v.Len() < 1 || v.Dim() < 1 || v.Len()*v.Dim() > len(content) {
		t.Fatalf("shape [%d, %d] from %d bytes", v.Len(), v.Dim(), len(content))
	}
	row := make([]float32, v.Dim())
	for _, i := range []int{0, v.Len() - 1} {
		if err := v.Rows(i, 1, row); err != nil {
			t.Fatalf("row %d of an accepted file: %v", i, err)
		}
	}
}

func FuzzOpenNPY(f *testing.F) {
	f.Add([]byte(goldenNPY))
	for _, shape := range []string{"(2, 3)", "(6,)", "()", "(4611686018427387904, 4)", "(-1, 2)", "(2L, 3L)", "((2, 3), 1)"} {
		f.Add(npyBytes(npyDict("<f4", shape, true), encodeFloats("<f4", goldenValues)))
	}
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) >= 6 {
			copy(content, "\x93NUMPY")
		}
		file := bytes.NewReader(content)
		v, err := openNPY(context.Background(), "x.npy", file, file.Size(), io.NopCloser(file), Options{})
		readEnds(t, content, v, err)
	})
}

func FuzzOpenFvecs(f *testing.F) {
	f.Add([]byte(goldenFvecs))
	f.Add([]byte("\xff\xff\xff\x7f"))
	f.Add([]byte("\x01\x00\x00\x00abcd\x02\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := bytes.NewReader(content)
		v, err := openVecs("x.fvecs", ".fvecs", file, file.Size(), io.NopCloser(file))
		readEnds(t, content, v, err)
	})
}

func writeIn(t *testing.T, dir, name string, content []byte) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// fuzzFile lets a target open files of a format whose reader needs a real one.
func fuzzFile(f *testing.F, name string, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte) {
		defer memorytest.Bound(t, memorytest.Most/2)()
		v, err := Open(t.Context(), writeIn(t, dir, name, content), Options{SpoolDir: dir})
		if err != nil {
			return
		}
		defer v.Close()
		row := make([]float32, v.Dim())
		for _, i := range []int{0, v.Len() - 1} {
			_ = v.Rows(i, 1, row) // a later page may be damaged
		}
	})
}

func FuzzOpenNPZ(f *testing.F) {
	members := map[string][]byte{"x.npy": []byte(goldenNPY), "readme.txt": []byte("hi")}
	fuzzFile(f, "x.npz", zipBytes(f, zip.Store, members), zipBytes(f, zip.Deflate, members), []byte("PK\x05\x06"))
}

func FuzzOpenParquet(f *testing.F) {
	type lists struct {
		ID     int64     `parquet:"id"`
		Vector []float32 `parquet:"vector,list"`
	}
	fuzzFile(f, "x.parquet", parquetBytes(f, []lists{{1, []float32{1, 2}}, {2, []float32{3, 4}}}))
}

func FuzzOpenParquetColumns(f *testing.F) {
	type columns struct {
		A float32 `parquet:"0"`
		B float64 `parquet:"1"`
	}
	fuzzFile(f, "x.parquet", parquetBytes(f, []columns{{1, 2}, {3, 4}}))
}
