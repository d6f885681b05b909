package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/catalogue"
)

// namedRow is a row of embeddings beside the name of its item.
type namedRow struct {
	Asin   string    `parquet:"asin"`
	Vector []float32 `parquet:"vector,list"`
}

// unnamedRow is a row of embeddings beside a column that names nothing.
type unnamedRow struct {
	Price  float64   `parquet:"price"`
	Vector []float32 `parquet:"vector,list"`
}

// idsOf runs ids on a parquet file of rows and returns the exit code, what was
// said and the names of the items.
func idsOf[R any](t *testing.T, rows []R, more ...string) (code int, said string, keys []string) {
	t.Helper()
	dir := t.TempDir()
	file, ids := filepath.Join(dir, "emb.parquet"), filepath.Join(dir, "ids")
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	var out, remarks bytes.Buffer
	line := append([]string{"ids", file, "-o", ids, "--codes", "2", "--levels", "1", "--hidden", "none", "--steps", "2"}, more...)
	if code = cli.Execute(line, &cli.Streams{Out: &out, Err: &remarks}, newRootCommand); code != cli.ExitOK {
		return code, remarks.String(), nil
	}
	table, err := catalogue.Load(ids)
	if err != nil {
		t.Fatal(err)
	}
	for row := range table.Len() {
		keys = append(keys, table.Key(row))
	}
	return code, remarks.String(), keys
}

// Items are called as the file of embeddings says, unless --items says otherwise.
func TestParquetEmbeddingsNameTheirItems(t *testing.T) {
	rows := []namedRow{{"B1", []float32{1, 2}}, {"B7", []float32{3, 1}}, {"B3", []float32{5, 0}}}
	const remark = `names its items itself, such as "B1"`
	_, said, keys := idsOf(t, rows)
	if !slices.Equal(keys, []string{"B1", "B7", "B3"}) || !strings.Contains(said, remark) {
		t.Errorf("items %v\n%s", keys, said)
	}
	items := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(items, []byte("id,title\nx,a\ny,b\nz,c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, said, keys = idsOf(t, rows, "--items", items)
	if !slices.Equal(keys, []string{"x", "y", "z"}) || strings.Contains(said, remark) {
		t.Errorf("items %v\n%s", keys, said)
	}
	_, said, keys = idsOf(t, []unnamedRow{{9, []float32{1, 2}}, {9, []float32{3, 1}}})
	if !slices.Equal(keys, []string{"1", "2"}) || strings.Contains(said, "names its items") {
		t.Errorf("items %v\n%s", keys, said)
	}
	rows[2].Asin = "B1"
	code, said, _ := idsOf(t, rows)
	if code != cli.ExitFailed || !strings.Contains(said, `items 0 and 2 are both called "B1"; check what was saved, or name the items with --items`) {
		t.Errorf("exit %d\n%s", code, said)
	}
}
