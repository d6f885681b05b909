package interactions

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// writeFile puts content under name in a fresh directory.
func writeFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// parquetText is a file of records in several row groups and pages.
func parquetText[R any](t testing.TB, records []R) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[R](&out, parquet.MaxRowsPerRowGroup(700), parquet.PageBufferSize(512))
	if _, err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func mustOpen(t testing.TB, path string, opt Options) *Log {
	t.Helper()
	log, err := Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// render writes a log as sequences: one user a line.
func render(l *Log) string {
	var out strings.Builder
	for u := range l.Users() {
		out.WriteString(l.User(u))
		for _, item := range l.Sequence(u) {
			out.WriteString(" " + l.Item(int(item)))
		}
		out.WriteString("\n")
	}
	return out.String()
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

// realData is a file of the directory that GRITVQ_DATA names.
func realData(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("GRITVQ_DATA")
	if root == "" {
		t.Skip("set GRITVQ_DATA to a directory with recsys/" + name)
	}
	path := filepath.Join(root, "recsys", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("GRITVQ_DATA has no recsys/%s", name)
	}
	return path
}

// rowsOf returns the row in a catalogue of every item of a log.
func rowsOf(t testing.TB, c *Catalogue, l *Log) []int {
	t.Helper()
	rows := make([]int, l.Items())
	for i := range rows {
		row, known := c.Row(l.Item(i))
		if !known {
			t.Fatalf("the catalogue lacks %q", l.Item(i))
		}
		rows[i] = row
	}
	return rows
}

// only returns the queries of one part.
func (q *Queries) only(part Part) []Query {
	return slices.DeleteFunc(slices.Clone(q.List), func(query Query) bool { return query.Part != part })
}
