package interactions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestItems(t *testing.T) {
	for name, c := range map[string]struct{ file, content string }{
		"Amazon": {"items.jsonl", `{"id": 10, "asin": "B1", "title": "Oil, pure", "brand": "Coco", "categories": ` +
			`[["Beauty", "Skin"], ["Other"]]}` + "\n\n" +
			`{"id": 20, "short_text": "gun mats", "attributes": [1, 2]}` + "\n"},
		"list and text": {"items.jsonl", `{"item": "10", "name": "Oil, pure", "store": "Coco", "category": ["Beauty", "", "Skin"]}` + "\n" +
			`{"item": "20", "title": "gun mats", "categories": null}` + "\n"},
		"mark": {"items.jsonl", "\xef\xbb\xbf" + `{"id": 10, "title": "Oil, pure", "brand": "Coco", "categories": "Beauty|Skin"}` + "\n" +
			`{"id": 20, "title": "gun mats"}`},
		"mark, csv": {"items.csv", "\xef\xbb\xbfid,title,brand,genres\n10,\"Oil, pure\",Coco,Beauty|Skin\n20,gun mats,,\n"},
		"genres":    {"items.csv", "movieId,title,genres,brand\n10,\"Oil, pure\",Beauty|Skin,Coco\n20,gun mats,,\n"},
		"tabs":      {"items.tsv", "genres\tbrand\tid\ttitle\nBeauty > Skin\tCoco\t10\tOil, pure\n\t\t20\tgun mats\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadItems(t.Context(), writeFile(t, c.file, c.content), ItemColumns{})
			if err != nil {
				t.Fatal(err)
			}
			first, second := got.Items[0], got.Items[1]
			if first.ID != "10" || first.Title != "Oil, pure" || !slices.Equal(first.Categories, []string{"Beauty", "Skin"}) ||
				first.Text != "Oil, pure. Coco. Beauty, Skin" {
				t.Errorf("%+v", first)
			}
			if second.ID != "20" || second.Text != "gun mats" || second.Title != "gun mats" || len(second.Categories) != 0 {
				t.Errorf("%+v", second)
			}
			if row, ok := got.Row("20"); row != 1 || !ok || got.Len() != 2 || got.Texts()[1] != "gun mats" {
				t.Errorf("row %d, %v", row, ok)
			}
		})
	}
}

func TestMovies(t *testing.T) {
	got, err := ReadItems(t.Context(), writeFile(t, "movies.dat",
		"73::Mis\xe9rables, Les (1995)::Drama|Musical\r\n2::Jumanji (1995)::Adventure\r\n"), ItemColumns{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Items[0].Title != "Misérables, Les (1995)" || got.Items[0].Text != "Misérables, Les (1995). Drama, Musical" {
		t.Errorf("%+v", got.Items[0])
	}
	utf8, err := ReadItems(t.Context(), writeFile(t, "movies.dat", "73::Misérables, Les (1995)::Drama|Musical\n"), ItemColumns{})
	if err != nil || utf8.Items[0].Title != got.Items[0].Title {
		t.Errorf("%+v, %v", utf8, err)
	}
	marked, err := ReadItems(t.Context(), writeFile(t, "movies.dat", "\xef\xbb\xbf73::Misérables, Les (1995)::Drama\n"), ItemColumns{})
	if err != nil || marked.Items[0].ID != "73" {
		t.Errorf("%+v, %v", marked, err)
	}
}

// Parquet files name items beside other columns.
func TestParquetItems(t *testing.T) {
	type row struct {
		Vector []float32 `parquet:"vector,list"`
		Number *int64    `parquet:"Item_ID,optional"`
		Title  string    `parquet:"title"`
		Genres string    `parquet:"genres"`
		Price  float64   `parquet:"price"`
	}
	var rows []row
	for i := range int64(2000) {
		number := 7*i - 70
		rows = append(rows, row{[]float32{1, 2}, &number, "Oil", "Beauty|Skin", 3})
	}
	got, err := ReadItems(t.Context(), writeFile(t, "emb.parquet", parquetText(t, rows)), ItemColumns{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != len(rows) || got.Items[3].ID != "-49" || got.Items[1999].ID != "13923" || got.Items[3].Text != "Oil. Beauty, Skin" {
		t.Errorf("%d items, such as %+v", got.Len(), got.Items[3])
	}
	rows[1500].Number = rows[20].Number
	_, err = ReadItems(t.Context(), writeFile(t, "emb.parquet", parquetText(t, rows)), ItemColumns{})
	wantError(t, err, "emb.parquet", `items 20 and 1500 are both called "70"`)
	rows[1500].Number = nil
	_, err = ReadItems(t.Context(), writeFile(t, "emb.parquet", parquetText(t, rows)), ItemColumns{})
	wantError(t, err, "row 1500 of", "has no id")
	type bare struct {
		Vector []float32 `parquet:"vector,list"`
		Price  float64   `parquet:"price"`
	}
	_, err = ReadItems(t.Context(), writeFile(t, "emb.parquet", parquetText(t, []bare{{[]float32{1}, 2}})), ItemColumns{})
	wantError(t, err, "emb.parquet", "no column for the id", "price")
	if !errors.Is(err, ErrUnnamed) {
		t.Errorf("got %v", err)
	}
}

func TestItemsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"no object":   {"i.jsonl", "{\"id\": 1, \"title\": \"a\"}\n[1]\n", `line 2 of`},
		"no id":       {"i.jsonl", "{\"title\": \"a\"}\n", "has no id"},
		"list for id": {"i.jsonl", "{\"id\": [1], \"title\": \"a\"}\n", "has no id"},
		"twice":       {"i.jsonl", "{\"id\": 1}\n{\"id\": \"1\"}\n", `items 0 and 1 are both called "1"`},
		"none":        {"i.jsonl", "\n", "at least one item"},
		"no header":   {"i.csv", "1,abc,x\n", "goes by a usual name for the id (id, item, "},
		"empty id":    {"i.csv", "id,title\n,abc\n", "line 2"},
		"no title": {"i.csv", "id,label\n1,abc\n",
			`for the title (title, name, product_title, short_text), among ["id" "label"]; choose the columns`},
		"text":       {"i.parquet", "id,title\n1,abc\n", "is no parquet file but text; if it is a table, name it .csv"},
		"compressed": {"i.jsonl", "\x1f\x8b\x08", "is compressed"},
		"UTF-16":     {"i.csv", "\xff\xfei\x00d\x00", "UTF-16"},
		"format":     {"i.xml", "<a/>", "expected .jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, c.file, c.content)
			_, err := ReadItems(context.Background(), path, ItemColumns{})
			wantError(t, err, c.want, path)
		})
	}
}

func TestRealMovies(t *testing.T) {
	c, err := ReadItems(t.Context(), realData(t, "ml-1m/movies.dat"), ItemColumns{})
	if err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, realData(t, "ml-1m/sequences.txt"), Options{})
	if s := l.Stats(); c.Len() != 3883 || s.Users != 6040 || s.Items != 3706 || s.Interactions != 1_000_209 { // README of MovieLens-1M
		t.Errorf("%d movies, %+v", c.Len(), s)
	}
	rowsOf(t, c, l)
	if row, ok := c.Row("73"); !ok || c.Items[row].Title != "Misérables, Les (1995)" {
		t.Errorf("movie 73 is %q", c.Items[row].Title)
	}
}

func TestRowsOfALog(t *testing.T) {
	c, err := NewCatalogue([]Item{{ID: "x"}, {ID: "8"}, {ID: "7"}, {ID: "9"}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.RowsOf(mustOpen(t, writeFile(t, "s.txt", "ann 7 8 7 x\n"), Options{}))
	if err != nil || !slices.Equal(rows, []int32{2, 1, 0}) {
		t.Errorf("rows %v (%v)", rows, err)
	}
	_, err = c.RowsOf(mustOpen(t, writeFile(t, "s.txt", "ann 7 a b\n"), Options{}))
	wantError(t, err, "2 of the 3 items", `such as "a"`, `such as "x"`)
}

// Tables of items with all separators, with chosen columns, and in Latin-1.
func TestItemTables(t *testing.T) {
	const want = "7 Misérables, Les (1995) Drama"
	for name, c := range map[string]struct {
		file, content string
		opt           ItemColumns
	}{
		"MovieLens-100k": {"u.item", "7|Mis\xe9rables, Les (1995)|01-Jan-1995||http://x|0|Drama\n", ItemColumns{"1", "2", "7"}},
		"bars, csv":      {"i.csv", "id|title|genres\n7|Misérables, Les (1995)|Drama\n", ItemColumns{}},
		"semicolons":     {"i.csv", "id;title;genres\n7;Misérables, Les (1995);Drama\n", ItemColumns{}},
		"names":          {"i.tsv", "sku\tlabel\tkind\n7\tMis\xe9rables, Les (1995)\tDrama\n", ItemColumns{"sku", "label", "kind"}},
		"numbers, named": {"i.tsv", "id\tlabel\tgenres\n7\tMis\xe9rables, Les (1995)\tDrama\n", ItemColumns{"1", "2", ""}},
		"Latin-1, JSON":  {"i.jsonl", "{\"ID\":7,\"Title\":\"Mis\xe9rables, Les (1995)\",\"genres\":\"Drama\"}\n", ItemColumns{}},
	} {
		got, err := ReadItems(t.Context(), writeFile(t, c.file, c.content), c.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if i := got.Items[0]; got.Len() != 1 || i.ID+" "+i.Title+" "+strings.Join(i.Categories, " ") != want {
			t.Errorf("%s: %d items, %+v", name, got.Len(), i)
		}
	}
	_, err := ReadItems(t.Context(), writeFile(t, "i.csv", "id,title\n1,a\n"), ItemColumns{ID: "sku", Title: "title"})
	wantError(t, err, `no column "sku" for the id, among ["id" "title"]; choose the columns`)
	_, err = ReadItems(t.Context(), writeFile(t, "i.jsonl", "{}\n"), ItemColumns{ID: "sku"})
	wantError(t, err, "no table with columns")
}
