package interactions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Columns of the Shopping Queries Dataset, as its two files have them.
type esciExample struct {
	ExampleID int64  `parquet:"example_id"`
	Query     string `parquet:"query"`
	QueryID   int64  `parquet:"query_id"`
	ProductID string `parquet:"product_id"`
	Locale    string `parquet:"product_locale"`
	Label     string `parquet:"esci_label"`
	Small     int64  `parquet:"small_version"`
	Large     int64  `parquet:"large_version"`
	Split     string `parquet:"split"`
}

type esciProduct struct {
	ProductID   string  `parquet:"product_id"`
	Title       string  `parquet:"product_title"`
	Description *string `parquet:"product_description,optional"`
	Bullets     *string `parquet:"product_bullet_point,optional"`
	Brand       *string `parquet:"product_brand,optional"`
	Color       *string `parquet:"product_color,optional"`
	Locale      string  `parquet:"product_locale"`
}

func esciFiles(t *testing.T) (examples, products string) {
	brand := "Acme"
	examples = writeFile(t, "examples.parquet", parquetText(t, []esciExample{
		{0, "red shoe", 7, "P2", "us", "E", 1, 1, "train"},
		{1, "red shoe", 7, "P1", "us", "E", 0, 1, "train"},
		{2, "red shoe", 7, "P3", "us", "S", 1, 1, "train"},
		{3, "red shoe", 7, "P2", "us", "E", 1, 1, "train"}, // judged twice
		{4, "mug", 8, "P3", "us", "I", 1, 1, "test"},
		{5, "taza", 9, "P1", "es", "E", 1, 1, "train"},
		{6, "lamp", 10, "P4", "us", "E", 1, 1, "test"},
	}))
	products = writeFile(t, "products.parquet", parquetText(t, []esciProduct{
		{"P1", "zapato", nil, nil, nil, nil, "es"},
		{"P1", "Shoe in red", nil, nil, &brand, nil, "us"},
		{"P2", "Red shoe", nil, nil, nil, nil, "us"},
		{"P3", "Mug", nil, nil, nil, &brand, "us"},
		{"P4", "Lamp", nil, nil, nil, nil, "us"},
		{"P5", "Never judged", nil, nil, nil, nil, "us"},
	}))
	return examples, products
}

// answers names the products of a query.
func answers(q *Queries, i int) string {
	var ids []string
	for _, row := range q.List[i].Answers {
		ids = append(ids, q.Catalogue.Items[row].ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestESCI(t *testing.T) {
	examples, products := esciFiles(t)
	q, err := ReadESCI(t.Context(), []string{products, examples}, ESCIOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(q.List) != 2 || q.Unanswered != 1 || q.Catalogue.Len() != 4 {
		t.Fatalf("%d queries, %d products, %d unanswered", len(q.List), q.Catalogue.Len(), q.Unanswered)
	}
	if first := q.List[0]; first.ID != "7" || first.Text != "red shoe" || answers(q, 0) != "P1 P2" || first.Part == TestPart {
		t.Errorf("%+v with %s", first, answers(q, 0))
	}
	if second := q.List[1]; second.Text != "lamp" || second.Part != TestPart || len(q.only(TestPart)) != 1 {
		t.Errorf("%+v", second)
	}
	row, _ := q.Catalogue.Row("P1")
	if got := q.Catalogue.Items[row]; got.Title != "Shoe in red" || got.Text != "Shoe in red. Acme" {
		t.Errorf("%+v", got)
	}
	small, err := ReadESCI(t.Context(), []string{examples, products}, ESCIOptions{Small: true, Answers: "ES", AllProducts: true})
	if err != nil {
		t.Fatal(err)
	}
	if answers(small, 0) != "P2 P3" || small.Catalogue.Len() != 5 {
		t.Errorf("%s of %d", answers(small, 0), small.Catalogue.Len())
	}
	spanish, err := ReadESCI(t.Context(), []string{examples, products}, ESCIOptions{Locale: "es"})
	if err != nil || len(spanish.List) != 1 || spanish.Catalogue.Items[0].Title != "zapato" {
		t.Errorf("%+v, %v", spanish, err)
	}
}

func TestJoinedESCI(t *testing.T) {
	type joined struct {
		Query   string `parquet:"query"`
		QueryID string `parquet:"query_id"`
		Product string `parquet:"product_id"`
		Title   string `parquet:"product_title"`
		Locale  string `parquet:"product_locale"`
		Label   string `parquet:"esci_label"`
	}
	var rows []joined
	for i := range 3000 { // several row groups
		rows = append(rows, joined{fmt.Sprint("query ", i), fmt.Sprint(i), fmt.Sprint("P", i%50), fmt.Sprint("title ", i%50), "us",
			[]string{"Exact", "Irrelevant"}[i%2]})
	}
	q, err := ReadESCI(t.Context(), []string{writeFile(t, "joined.parquet", parquetText(t, rows))}, ESCIOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(q.List) != 1500 || q.Unanswered != 1500 || q.Catalogue.Items[49].Title != "title 49" {
		t.Errorf("%d queries, %d unanswered, %+v", len(q.List), q.Unanswered, q.Catalogue.Items[49])
	}
	// Without a split in the file all three parts are drawn.
	for part, least := range map[Part]int{TrainPart: 1100, ValidationPart: 100, TestPart: 100} {
		if n := len(q.only(part)); n < least {
			t.Errorf("%d queries for %s", n, part)
		}
	}
}

func TestESCIThatIsWrong(t *testing.T) {
	examples, products := esciFiles(t)
	read := func(opt ESCIOptions, paths ...string) error {
		_, err := ReadESCI(context.Background(), paths, opt)
		return err
	}
	wantError(t, read(ESCIOptions{}, products), "add the file of examples")
	wantError(t, read(ESCIOptions{}, examples), "add the file of products")
	wantError(t, read(ESCIOptions{Locale: "fr"}, examples, products), `locale "fr"`)
	wantError(t, read(ESCIOptions{Answers: "EX"}, examples, products), `answers "EX"`)
	wantError(t, read(ESCIOptions{}, "none.parquet"), "check the path")
	type short struct {
		Label string `parquet:"esci_label"`
	}
	wantError(t, read(ESCIOptions{}, writeFile(t, "x.parquet", parquetText(t, []short{{"E"}}))), "no column query_id", "esci_label")
	bad := writeFile(t, "bad.parquet", parquetText(t, []esciExample{{0, "q", 1, "P", "us", "maybe", 1, 1, "test"}}))
	wantError(t, read(ESCIOptions{}, bad), "row 0", `"maybe"`)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	_, err := ReadESCI(stopped, []string{examples, products}, ESCIOptions{})
	wantError(t, err, "was stopped")
}

// slowAnswers looks at every item.
func slowAnswers(c *Catalogue, category string, words []string) []int32 {
	var rows []int32
	for row, item := range c.Items {
		if len(item.Categories) == 0 || strings.ToLower(item.Categories[len(item.Categories)-1]) != category {
			continue
		}
		title := titleWords(item.Title)
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(title, w) }) {
			rows = append(rows, int32(row))
		}
	}
	return rows
}

func checkDerived(t *testing.T, q *Queries, most int) {
	t.Helper()
	texts := map[string]bool{}
	for _, query := range q.List {
		if texts[query.Text] {
			t.Fatalf("%q is asked twice", query.Text)
		}
		texts[query.Text] = true
		category := strings.ToLower(narrowest(q.Catalogue.Items[query.Answers[0]]))
		words := strings.Fields(strings.TrimSuffix(query.Text, category))
		if len(words) < 1 || len(words) > 2 || len(query.Answers) > most {
			t.Fatalf("%q has %d words and %d answers", query.Text, len(words), len(query.Answers))
		}
		if want := slowAnswers(q.Catalogue, category, words); !slices.Equal(query.Answers, want) {
			t.Fatalf("%q: %v, want %v", query.Text, query.Answers, want)
		}
	}
}

func TestDerivedQueries(t *testing.T) {
	shop := NewShop(1, 400, 1, 1)
	q, err := DeriveQueries(shop.Catalogue, DeriveOptions{MaxAnswers: 8, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if len(q.List) < 150 {
		t.Errorf("only %d queries", len(q.List))
	}
	checkDerived(t, q, 8)
	again, _ := DeriveQueries(shop.Catalogue, DeriveOptions{MaxAnswers: 8, Seed: 5, Count: 20})
	other, _ := DeriveQueries(shop.Catalogue, DeriveOptions{MaxAnswers: 8, Seed: 6})
	if len(again.List) != 20 || again.List[19].Text != q.List[19].Text || other.List[0].Text == q.List[0].Text &&
		other.List[1].Text == q.List[1].Text {
		t.Error("queries are not a matter of the seed")
	}
	total := 0
	for _, part := range []Part{TrainPart, ValidationPart, TestPart} {
		n := len(q.only(part))
		if total += n; n == 0 {
			t.Errorf("no query for %s", part)
		}
	}
	if total != len(q.List) {
		t.Errorf("%d of %d queries have a part", total, len(q.List))
	}
	plain, err := NewCatalogue([]Item{{ID: "1", Title: "shoe"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = DeriveQueries(plain, DeriveOptions{})
	wantError(t, err, "no item of the catalogue has a category")
}

func TestDerivedFromRealTitles(t *testing.T) {
	for _, name := range []string{"amazon-beauty", "amazon-toys"} {
		c, err := ReadItems(t.Context(), realData(t, name+"/items.jsonl"), ItemColumns{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := DeriveQueries(c, DeriveOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, query := range q.List {
			found += len(query.Answers)
		}
		t.Logf("%s: %d queries (%d for testing), %.1f answers each, such as %q, %q, %q",
			name, len(q.List), len(q.only(TestPart)), float64(found)/float64(len(q.List)), q.List[0].Text, q.List[1].Text, q.List[2].Text)
		if len(q.List) < c.Len()/2 {
			t.Errorf("%s gave %d queries", name, len(q.List))
		}
		q.List = q.List[:200]
		checkDerived(t, q, 50)
	}
}

// Searches come from tables too: a row an answer.
func TestQueryTables(t *testing.T) {
	const rows = "red tent,T1,train\nred tent,T2,train\ncaf\xe9 set,C1,test\nred tent,T1,train\nlost,,validation\n"
	for name, c := range map[string]struct {
		content string
		opt     QueryOptions
	}{
		"header": {"search_term,product_id,split\n" + rows, QueryOptions{}},
		"names": {"id,frage,ware,part\n" + "1," + strings.ReplaceAll(strings.TrimSpace(rows), "\n", "\n2,") + "\n",
			QueryOptions{Query: "frage", Item: "ware"}},
		"numbers": {"query,product,part\n" + rows, QueryOptions{Query: "1", Item: "2"}},
	} {
		q, err := ReadQueries(t.Context(), []string{writeFile(t, "q.csv", c.content)}, c.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(q.List) != 2 || q.Unanswered != 1 || answers(q, 0) != "T1 T2" || q.List[1].Text != "café set" || q.List[1].Part != TestPart {
			t.Errorf("%s: %+v, %d without an answer", name, q.List, q.Unanswered)
		}
	}
	var many strings.Builder
	many.WriteString("query|asin\n")
	for i := range 3000 {
		fmt.Fprintf(&many, "query %d|P%d\n", i, i%50)
	}
	q, err := ReadQueries(t.Context(), []string{writeFile(t, "q.csv", many.String())}, QueryOptions{})
	if err != nil || len(q.only(TestPart)) < 200 || len(q.only(ValidationPart)) < 200 {
		t.Errorf("%d searches (%v)", len(q.List), err)
	}
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"no search column": {"word,item\na,b\n", []string{
			"for the search (query, search, search_term,", `among ["word" "item"]`, "choose the columns",
		}},
		"no item column": {"query,label\na,b\n", []string{"for the item (item, item_id,", "choose the columns"}},
		"no answer":      {"query,item\na,\nb,\n", []string{"no search of", "has an answer"}},
		"no search":      {"query,item\n,b\n", []string{"line 2 of", "has no search"}},
		"part":           {"query,item,split\na,b,dev\n", []string{"line 2 of", `is for "dev"`, "train, validation or test"}},
		"ragged":         {"query,item\na,b,c\n", []string{"wrong number of fields"}},
	} {
		_, err := ReadQueries(t.Context(), []string{writeFile(t, "q.csv", c.content)}, QueryOptions{})
		t.Run(name, func(t *testing.T) { wantError(t, err, c.want...) })
	}
	_, err = ReadQueries(t.Context(), []string{writeFile(t, "q.parquet", "query,item\na,b\n")}, QueryOptions{})
	wantError(t, err, "is no parquet file but text")
	_, err = ReadQueries(t.Context(), []string{writeFile(t, "q.txt", "query,item\na,b\n")}, QueryOptions{})
	wantError(t, err, "no known format", ".csv")
}

// The Shopping Queries Dataset may be a text table.
func TestTextESCI(t *testing.T) {
	path := writeFile(t, "e.csv", "query_id,query,product_id,product_locale,esci_label,product_title\n1,mug,P1,us,E,Mug\n2,cup,P1,us,I,Mug\n")
	q, err := ReadQueries(t.Context(), []string{path}, QueryOptions{})
	if err != nil || len(q.List) != 1 || q.Unanswered != 1 || q.Catalogue.Items[0].Title != "Mug" {
		t.Errorf("%+v (%v)", q, err)
	}
	_, err = ReadQueries(t.Context(), []string{path}, QueryOptions{Query: "query"})
	wantError(t, err, "Shopping Queries Dataset")
}
