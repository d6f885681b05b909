package interactions

import (
	"context"
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
	f.Fuzz(func(t *testing.T, content string, kind uint8) {
		path := writeFile(t, "x"+[]string{".csv", ".tsv", ".dat"}[kind%3], content)
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
