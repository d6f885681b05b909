package parquetfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type rated struct {
	User  string    `parquet:"user"`
	Stars *int32    `parquet:"stars,optional"`
	Tags  []float32 `parquet:"tags,list"` // no flat column
	When  int64     `parquet:"when"`
}

// ratedFile is a file of several row groups and many pages.
func ratedFile(t testing.TB, rows int) []byte {
	t.Helper()
	records := make([]rated, rows)
	for i := range records {
		records[i] = rated{User: fmt.Sprint("user", i%37), Tags: []float32{1}, When: int64(i) * 3}
		if stars := int32(i % 5); stars != 0 {
			records[i].Stars = &stars
		}
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[rated](&out, parquet.MaxRowsPerRowGroup(700), parquet.PageBufferSize(4096))
	if _, err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestColumnsRowByRow(t *testing.T) {
	content := ratedFile(t, 3000)
	c, err := OpenColumns("r.parquet", bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Names(), " "); got != "user stars when" {
		t.Errorf("columns %q", got)
	}
	row := 0
	err = c.EachRow(t.Context(), []string{"when", "stars", "user"}, func(v []parquet.Value) error {
		stars := int32(row % 5)
		if v[0].Int64() != int64(row)*3 || v[2].String() != fmt.Sprint("user", row%37) || v[1].IsNull() != (stars == 0) || stars != 0 &&
			v[1].Int32() != stars {
			t.Fatalf("row %d is %v", row, v)
		}
		row++
		return nil
	})
	if err != nil || row != 3000 {
		t.Errorf("%d rows, %v", row, err)
	}
	enough := errors.New("enough")
	if err := c.EachRow(t.Context(), []string{"user"}, func([]parquet.Value) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a visitor's error became %v", err)
	}
	err = c.EachRow(t.Context(), []string{"user", "tags"}, func([]parquet.Value) error { return nil })
	if err == nil || err.Error() != "r.parquet has no column tags with one value a row; its columns are user, stars, when" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = c.EachRow(ctx, []string{"user"}, func([]parquet.Value) error { return nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "r.parquet was stopped") {
		t.Errorf("a cancelled walk ends with %v", err)
	}
}

// Damage anywhere is an error or other values, never a panic or an endless walk.
func TestDamagedColumns(t *testing.T) {
	whole := ratedFile(t, 60)
	for at := 0; at < len(whole); at += 3 {
		content := bytes.Clone(whole)
		content[at] ^= 0x5a
		c, err := OpenColumns("r.parquet", bytes.NewReader(content), int64(len(content)))
		if err == nil {
			err = c.EachRow(t.Context(), c.Names(), func([]parquet.Value) error { return nil })
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "r.parquet")) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	for _, size := range []int{0, 11, len(whole) - 1} {
		_, err := OpenColumns("r.parquet", bytes.NewReader(whole[:size]), int64(size))
		if err == nil || !strings.Contains(err.Error(), "r.parquet") || !strings.Contains(err.Error(), "copy or write it again") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func ExampleOpenColumns() {
	var file bytes.Buffer
	type pair struct {
		User string `parquet:"user"`
		Item int64  `parquet:"item"`
	}
	if err := parquet.Write(&file, []pair{{"ann", 7}, {"bob", 9}}); err != nil {
		fmt.Println(err)
		return
	}
	c, err := OpenColumns("log.parquet", bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = c.EachRow(context.Background(), []string{"item", "user"}, func(v []parquet.Value) error {
		fmt.Println(v[0], v[1])
		return nil
	})
	fmt.Println(c.Names(), err)
	// Output:
	// 7 ann
	// 9 bob
	// [user item] <nil>
}
