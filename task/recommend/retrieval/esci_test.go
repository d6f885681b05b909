package retrieval

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
)

// judgement is a row of ESCI's examples joined with its product.
type judgement struct {
	QueryID int64  `parquet:"query_id"`
	Query   string `parquet:"query"`
	Product string `parquet:"product_id"`
	Locale  string `parquet:"product_locale"`
	Label   string `parquet:"esci_label"`
	Split   string `parquet:"split"`
	Title   string `parquet:"product_title"`
}

// Searches in ESCI's layout keep their split, and only exact matches answer.
func TestESCI(t *testing.T) {
	var rows []judgement
	var keys []string
	var codes []uint32
	for i := range 40 {
		split := "train"
		if i%4 == 0 {
			split = "test"
		}
		text := fmt.Sprintf("thing number %d", i)
		for j, label := range []string{"E", "S"} {
			product := fmt.Sprintf("p%d-%d", i, j)
			rows = append(rows, judgement{int64(i), text, product, "us", label, split, "A thing"})
			keys, codes = append(keys, product), append(codes, uint32(i), uint32(j))
		}
	}
	path := filepath.Join(t.TempDir(), "examples.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	table, err := catalogue.Build(codes, []int{40, 2}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for labels, answers := range map[string]int{"E": 1, "ES": 2} {
		q, err := Source{Names: []string{path}, ESCI: interactions.ESCIOptions{Answers: labels}}.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDataset(q, table)
		if err != nil {
			t.Fatal(err)
		}
		train, held := len(d.Queries(interactions.TrainPart)), len(d.Queries(interactions.ValidationPart))
		if test := d.Queries(interactions.TestPart); len(test) != 10 || train+held != 30 || d.Pairs() != train*answers {
			t.Errorf("%s: %d, %d and %d searches, %d pairs", labels, train, held, len(test), d.Pairs())
		}
		for _, query := range d.Queries(interactions.TestPart) {
			if len(query.Answers) != answers || table.Key(int(query.Answers[0])) != "p"+query.ID+"-0" {
				t.Errorf("%s: %+v", labels, query)
			}
		}
	}
}
