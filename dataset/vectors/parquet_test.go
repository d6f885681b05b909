package vectors

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// parquetBytes writes records, several row groups and pages if there are many.
func parquetBytes[R any](t testing.TB, records []R, options ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[R](&out, append(options, parquet.MaxRowsPerRowGroup(700), parquet.PageBufferSize(4096))...)
	if _, err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParquetColumns(t *testing.T) {
	type record struct {
		ID     string     `parquet:"id"`
		Float  []float32  `parquet:"float,list"`
		Double []float64  `parquet:"double"`
		Nulls  []*float32 `parquet:"nulls,list,optional"`
		Codes  []int64    `parquet:"codes,list"`
	}
	const rows, dim = 2000, 5
	var records []record
	var want []float32
	for i := range rows {
		r := record{ID: fmt.Sprint(i)}
		for j := range dim {
			x := float32(i) + float32(j)/8
			r.Float, r.Double, r.Codes = append(r.Float, x), append(r.Double, float64(x)), append(r.Codes, 1)
			r.Nulls = append(r.Nulls, &x)
			want = append(want, x)
		}
		records = append(records, r)
	}
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1)} {
		path := writeFile(t, "x.parquet", parquetBytes(t, records, codec))
		spoolDir := t.TempDir()
		for _, column := range []string{"float", "double", "nulls"} {
			reported := 0
			v := mustOpen(t, path, Options{Member: column, SpoolDir: spoolDir, Progress: func(done, total int) { reported = done }})
			if v.Len() != rows || v.Dim() != dim || !slices.Equal(allRows(t, v), want) {
				t.Errorf("column %s differs, shape [%d, %d]", column, v.Len(), v.Dim())
			}
			if reported != rows {
				t.Errorf("progress ended at %d", reported)
			}
		}
		_, err := Open(context.Background(), path, Options{})
		wantError(t, err, "several", "float, double, nulls", "choose one")
		_, err = Open(context.Background(), path, Options{Member: "codes"})
		wantError(t, err, `no column "codes"`, "codes (list of int64)", "id (byte_array)")
		wantEmptyDir(t, spoolDir)
	}
}

func TestOpenBadParquet(t *testing.T) {
	type record struct {
		Vector []*float32 `parquet:"vector,list,optional"`
	}
	one := float32(1)
	row := func(n int) record { return record{Vector: slices.Repeat([]*float32{&one}, n)} }
	good := parquetBytes(t, []record{row(3), row(3)})
	type plain struct {
		X float32 `parquet:"x"`
	}
	tests := []struct {
		name    string
		content []byte
		want    []string
	}{
		{"ragged", parquetBytes(t, []record{row(3), row(3), row(2), row(3)}), []string{"row 2 of", "2 numbers", "have 3", "vector"}},
		{"ragged last", parquetBytes(t, []record{row(3), row(4)}), []string{"row 1 of", "4 numbers"}},
		{"empty list", parquetBytes(t, []record{row(3), {Vector: []*float32{}}}), []string{"row 1 of", "empty or missing list"}},
		{"missing list", parquetBytes(t, []record{row(3), row(3), {}}), []string{"row 2 of", "empty or missing list"}},
		{"null number", parquetBytes(t, []record{row(3), {Vector: []*float32{&one, nil, &one}}}), []string{"row 1 of", "null"}},
		{"no rows", parquetBytes(t, []record{}), []string{"no rows"}},
		{"no list", parquetBytes(t, []plain{{1}}), []string{"no column of lists of float or double", "x (float)"}},
		{"truncated", good[:len(good)-9], []string{"truncated or damaged", fmt.Sprint(len(good) - 9)}},
		{"only magic", []byte("PAR1PAR1"), []string{"truncated parquet", "found 8"}},
		{"footer overflow", []byte("PAR1 and then \xff\xff\xff\x7fPAR1"), []string{"damaged parquet", "no footer"}},
		{"wrong magic", []byte("hello world!"), []string{"no parquet file", "PAR1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spoolDir := t.TempDir()
			path := writeFile(t, "x.parquet", test.content)
			_, err := Open(context.Background(), path, Options{SpoolDir: spoolDir})
			wantError(t, err, append(test.want, path)...)
			wantEmptyDir(t, spoolDir)
		})
	}
}

// Whatever byte is damaged, opening must return, and leave nothing behind.
func TestDamagedParquetNeverPanics(t *testing.T) {
	type record struct {
		Vector []float32 `parquet:"vector,list"`
	}
	good := parquetBytes(t, []record{{[]float32{1, 2}}, {[]float32{3, 4}}, {[]float32{5, 6}}})
	failed := 0
	for at := range good {
		bad := slices.Clone(good)
		bad[at] ^= 0x15
		spoolDir := t.TempDir()
		v, err := Open(context.Background(), writeFile(t, "x.parquet", bad), Options{SpoolDir: spoolDir})
		if err == nil {
			v.Close()
		} else {
			failed++
		}
		wantEmptyDir(t, spoolDir)
	}
	if failed < len(good)/4 {
		t.Errorf("only %d of %d damages were noticed", failed, len(good))
	}
}
