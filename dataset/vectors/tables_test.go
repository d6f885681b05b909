package vectors

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/safetensors"
)

// The files come from pandas, NumPy and safetensors; see testdata/tables.py.
func TestTablesOfOtherPrograms(t *testing.T) {
	want := make([]float32, 15)
	for i := range want {
		want[i] = float32(i-7) / 4
	}
	for name, note := range map[string]string{
		"tables.parquet":           "left out column name",
		"tables-index.parquet":     "left out column name",
		"tables.csv":               "left out columns the index, name",
		"tables-plain.csv":         "",
		"tables-counted.csv":       "",
		"tables.tsv":               "left out column name",
		"tables.txt":               "",
		"tables.safetensors:items": "",
		"tables.safetensors:half":  "",
	} {
		dir := t.TempDir()
		v := mustOpen(t, filepath.Join("testdata", name), Options{SpoolDir: dir})
		if v.Len() != 5 || v.Dim() != 3 || !slices.Equal(allRows(t, v), want) {
			t.Errorf("%s is [%d, %d] %v", name, v.Len(), v.Dim(), allRows(t, v))
		}
		if v.Note() != note || v.View().Note() != note {
			t.Errorf("%s: note %q, want %q", name, v.Note(), note)
		}
		wantEmptyDir(t, dir)
	}
	_, err := Open(t.Context(), "testdata/tables.safetensors", Options{})
	wantError(t, err, "several tensors", "items F32 [5 3], half F16 [5 3]", "choose one, as in testdata/tables.safetensors:items")
	_, err = Open(t.Context(), "testdata/tables.safetensors:bias", Options{})
	wantError(t, err, ":bias has shape [3]", "expected (rows, dim)")
	_, err = Open(t.Context(), "testdata/tables.safetensors:item", Options{})
	wantError(t, err, `no tensor "item"`, "bias F32 [3]")
}

func TestTextTables(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []float32
	}{
		"words of GloVe":          {"the 0.5 -1e-2\n2008 3 4\n", []float32{0.5, -0.01, 3, 4}},
		"blank lines and returns": {"\ufeff1,2\r\n\r\n3,4\r\n\r\n", []float32{1, 2, 3, 4}},
		"semicolons, quotes":      {"\"a\";\"b\"\n\"1\"; 2\n", []float32{1, 2}},
		"not a number":            {"1\tnan\n2\t1e99\n", []float32{1, float32(math.NaN()), 2, float32(math.Inf(1))}},
		"a header that counts":    {",0,1\n7,1,2\n8,3,4\n", []float32{1, 2, 3, 4}},
		"no line end":             {"# comment\n1 2 3", []float32{1, 2, 3}},
	} {
		v := mustOpen(t, writeFile(t, "x.txt", []byte(test.text)), Options{})
		same := func(a, b float32) bool { return a == b || a != a && b != b }
		if !slices.EqualFunc(allRows(t, v), test.want, same) {
			t.Errorf("%s: %v, want %v", name, allRows(t, v), test.want)
		}
	}
	for _, test := range map[string]struct {
		text string
		want []string
	}{
		"prose":         {"It was the best of times,\nit was the worst of times\n", []string{"in no known format", "line 2 holds no numbers"}},
		"ragged":        {"1,2,3\n4,5\n", []string{"line 2 of", "2 columns", "have 3"}},
		"word":          {"1,2\n3,four\n", []string{"line 2 of", `"four"`, "column 2"}},
		"empty":         {"a,b\n1,2\n3,\n", []string{"line 3 of", "no number in column 2"}},
		"header only":   {"a,b\n", []string{"no rows"}},
		"short header":  {"a,b\n1,2,3\n", []string{"line 2 of", "3 columns", "have 2"}},
		"gzip as table": {"\x1f\x8b\x08\x00\x00\x00\x00\x00", []string{"gzip-compressed", "decompress"}},
	} {
		dir := t.TempDir()
		_, err := Open(t.Context(), writeFile(t, "x.csv", []byte(test.text)), Options{SpoolDir: dir})
		wantError(t, err, append(test.want, "x.csv")...)
		wantEmptyDir(t, dir)
	}
}

func TestTextProgressAndCancel(t *testing.T) {
	var text bytes.Buffer
	const rows = 10_000
	for i := range rows {
		fmt.Fprintf(&text, "%d,%d\n", 10_000+i, 10_000-i%10)
	}
	path := writeFile(t, "x.csv", text.Bytes())
	var done, total int
	v := mustOpen(t, path, Options{Progress: func(d, of int) { done, total = d, of }})
	if v.Len() != rows || done != rows || total != rows {
		t.Errorf("%d rows, progress %d of %d", v.Len(), done, total)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, path, Options{})
	wantError(t, err, "was stopped")
}

func TestParquetColumnsOfFloats(t *testing.T) {
	type record struct {
		A float32  `parquet:"a"`
		B *float64 `parquet:"b,optional"`
		N int64    `parquet:"n"`
	}
	var records []record
	var want []float32
	for i := range 2000 { // several row groups and pages
		b := float64(i) / 4
		records, want = append(records, record{float32(i), &b, 3}), append(want, float32(i), float32(b))
	}
	dir := t.TempDir()
	v := mustOpen(t, writeFile(t, "x.parquet", parquetBytes(t, records, parquet.Compression(&parquet.Zstd))), Options{SpoolDir: dir})
	if !slices.Equal(allRows(t, v), want) || v.Note() != "left out column n" {
		t.Errorf("[%d, %d], note %q", v.Len(), v.Dim(), v.Note())
	}
	records[1234].B = nil
	_, err := Open(t.Context(), writeFile(t, "x.parquet", parquetBytes(t, records)), Options{SpoolDir: dir})
	wantError(t, err, "row 1234 of", "null in column b")
	_, err = Open(t.Context(), writeFile(t, "x.parquet", parquetBytes(t, records[:0])), Options{SpoolDir: dir})
	wantError(t, err, "no rows")
	wantEmptyDir(t, dir)
}

func TestSafetensorsTypes(t *testing.T) {
	bf := safetensors.Tensor{Name: "bf", DType: safetensors.BF16, Shape: []int{2, 2}, Data: []byte{0x80, 0x3f, 0x49, 0x40, 0, 0xc0, 0, 0}}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := safetensors.Write(path, []safetensors.Tensor{bf}, nil); err != nil {
		t.Fatal(err)
	}
	if v := mustOpen(t, path, Options{}); !slices.Equal(allRows(t, v), []float32{1, 3.140625, -2, 0}) {
		t.Errorf("bfloat16: %v", allRows(t, v))
	}
	whole := safetensors.Tensor{Name: "ids", DType: safetensors.I64, Shape: []int{1, 1}, Data: make([]byte, 8)}
	if err := safetensors.Write(path, []safetensors.Tensor{whole}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	wantError(t, err, ":ids holds I64", "expected F16, BF16, F32 or F64")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), writeFile(t, "x.safetensors", content[:len(content)-1]), Options{})
	wantError(t, err, "not a valid safetensors file", "truncated")
}

func TestTorchFilesNameTheWayOut(t *testing.T) {
	content := zipBytes(t, zip.Store, map[string][]byte{"x/data.pkl": {0x80, 2}, "x/data/0": make([]byte, 16)})
	for _, name := range []string{"x.pt", "x.pth", "x.npz"} {
		_, err := Open(t.Context(), writeFile(t, name, content), Options{})
		wantError(t, err, "torch.save", "never read", "numpy.save(", "safetensors.torch.save_file(")
	}
	_, err := Open(t.Context(), writeFile(t, "old.pt", []byte("\x80\x02\x8a\x0a")), Options{})
	wantError(t, err, "pickle", "numpy.save")
}

func FuzzOpenText(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n"))
	f.Add([]byte("the 0.5 1\n"))
	f.Add([]byte(",0,1\n\"1\";\t2\n"))
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte) {
		v, err := Open(t.Context(), writeIn(t, dir, "x.txt", append([]byte("1"), content...)), Options{})
		readEnds(t, append([]byte("1"), content...), v, err)
	})
}

func FuzzOpenSafetensors(f *testing.F) {
	golden, err := os.ReadFile("testdata/tables.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Fuzz(func(t *testing.T, content []byte) {
		tensors, _, err := safetensors.Index(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		for _, tensor := range tensors {
			if tensor.Offset < 8 || tensor.Bytes < 0 || tensor.Offset+tensor.Bytes > int64(len(content)) {
				t.Fatalf("%+v of %d bytes", tensor, len(content))
			}
		}
	})
}
