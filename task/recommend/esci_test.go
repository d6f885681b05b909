package recommend

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
		q, err := readSearches(t.Context(), []string{path}, interactions.QueryOptions{ESCI: interactions.ESCIOptions{Answers: labels}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := FromSearches(q, table)
		if err != nil {
			t.Fatal(err)
		}
		train, held, test := len(d.Cases(TrainPart, 0)), len(d.Cases(ValidationPart, 0)), d.Cases(TestPart, 0)
		if len(test) != 10 || train+held != 30 || d.Examples() != train*answers {
			t.Errorf("%s: %d, %d and %d searches, %d examples", labels, train, held, len(test), d.Examples())
		}
		for _, c := range test {
			if len(c.Relevant) != answers || table.Key(int(c.Relevant[0])) != "p"+c.Name+"-0" {
				t.Errorf("%s: %+v", labels, c)
			}
		}
	}
}
