package interactions

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzSequences(f *testing.F) {
	f.Add(sequences)
	f.Add("a\tb\r\n\xff \x00\n")
	f.Fuzz(func(t *testing.T, content string) {
		r, err := readSequences(context.Background(), "x.txt", strings.NewReader(content))
		if err != nil {
			return
		}
		l := r.log("x.txt")
		again, err := readSequences(context.Background(), "x.txt", strings.NewReader(render(l)))
		if err != nil {
			t.Fatalf("accepted sequences but not their copy: %v", err)
		}
		if render(again.log("x.txt")) != render(l) || l.Len() > len(content) {
			t.Error("the copy differs")
		}
		checkCore(t, l)
	})
}

// checkCore makes sure that every user and item of a core has enough
// interactions.
func checkCore(t *testing.T, l *Log) {
	core := l.Core(2, 2)
	counts := make([]int, core.Items())
	for u := range core.Users() {
		if len(core.Sequence(u)) < 2 {
			t.Error("a short user is left")
		}
		for _, item := range core.Sequence(u) {
			counts[item]++
		}
	}
	for _, n := range counts {
		if n < 2 {
			t.Error("a rare item is left")
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add("user,item,time\n1,a,5\n1,b,4\n", uint8(0))
	f.Add("1\ta\t2020-01-01\n", uint8(1))
	f.Add("1::2::3::4\n", uint8(2))
	f.Add("\xef\xbb\xbf\"a\n\",2\n", uint8(0))
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content string, kind uint8) {
		path := writeIn(t, dir, "x"+[]string{".csv", ".tsv", ".dat"}[kind%3], content)
		table, err := openTable(path, logFormats)
		if err != nil {
			return
		}
		defer table.close()
		r, err := readTable(context.Background(), table, Options{})
		if err != nil {
			return
		}
		l := r.log("x")
		if len(r.times) != 0 && len(r.times) != l.Len() || l.Len() > len(content) {
			t.Errorf("%d interactions with %d times from %d bytes", l.Len(), len(r.times), len(content))
		}
	})
}

func FuzzItem(f *testing.F) {
	f.Add([]byte(`{"id": 1, "title": "a", "categories": [["x", "y"]]}`))
	f.Add([]byte(`{"id": 1e400, "title": {}, "categories": [[], 1]}`))
	f.Add([]byte(`{"id": "a", "categories": "x|y>z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		item, err := parseItem(text)
		if err == nil && item.ID == "" {
			t.Error("an item without a name")
		}
		for _, category := range item.Categories {
			if category == "" {
				t.Error("an empty category")
			}
		}
	})
}

// Catalogues come from tables and lines of JSON.
func FuzzItems(f *testing.F) {
	f.Add([]byte("id,title,brand\n1,a,x\n"), uint8(0))
	f.Add([]byte("{\"id\": 1, \"title\": \"a\"}\n{\"id\": 2}\n"), uint8(1))
	type item struct {
		ID    int64  `parquet:"id"`
		Title string `parquet:"title"`
	}
	f.Add([]byte(parquetText(f, []item{{1, "a"}, {2, "b"}})), uint8(2))
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte, kind uint8) {
		path := writeIn(t, dir, "x"+[]string{".csv", ".jsonl", ".parquet"}[kind%3], string(content))
		c, err := ReadItems(t.Context(), path, ItemColumns{})
		if err == nil && c.Len() < 1 {
			t.Error("an accepted catalogue is empty")
		}
	})
}

// Searches come from tables, and from judgements of the Shopping Queries Dataset.
func FuzzQueries(f *testing.F) {
	f.Add([]byte("query,item\nred shoes,a\nblue,b\n"), false)
	f.Add([]byte("query_id,query,product_id,product_locale,esci_label,product_title,split\n1,red,p,us,E,shoe,train\n"), false)
	type judgement struct {
		QueryID int64  `parquet:"query_id"`
		Query   string `parquet:"query"`
		Product string `parquet:"product_id"`
		Locale  string `parquet:"product_locale"`
		Label   string `parquet:"esci_label"`
		Title   string `parquet:"product_title"`
		Split   string `parquet:"split"`
	}
	f.Add([]byte(parquetText(f, []judgement{{1, "red", "p", "us", "E", "shoe", "train"}, {2, "blue", "q", "us", "S", "hat", "test"}})), true)
	dir := f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte, parquet bool) {
		extension := ".csv"
		if parquet {
			extension = ".parquet"
		}
		q, err := ReadQueries(t.Context(), []string{writeIn(t, dir, "x"+extension, string(content))}, QueryOptions{})
		if err != nil {
			return
		}
		for _, query := range q.List {
			for _, answer := range query.Answers {
				if answer < 0 || int(answer) >= q.Catalogue.Len() {
					t.Errorf("an answer is product %d of %d", answer, q.Catalogue.Len())
				}
			}
		}
	})
}

func writeIn(t *testing.T, dir, name, content string) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
