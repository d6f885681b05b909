package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gritvq/gritvq/dataset/interactions"
)

func TestOpenReturnsTheItemsOfTheTable(t *testing.T) {
	table, err := Build([]uint32{0, 1, 1}, []int{2}, strings.Fields("a b c"), BuildOptions{})
	must(t, table, err)
	var items []interactions.Item
	for _, key := range strings.Fields("a b c d") {
		items = append(items, interactions.Item{ID: key, Title: "title <" + key + ">", Text: "text", Categories: []string{"x", "y"}})
	}
	items[1].Title = ""
	for count := 2; count <= 4; count++ { // an Add that was killed leaves a fourth
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			dir := t.TempDir()
			if err := table.Save(dir); err != nil {
				t.Fatal(err)
			}
			if err := WriteItems(dir, items[:count]); err != nil {
				t.Fatal(err)
			}
			c, err := Open(t.Context(), dir)
			if count < 3 {
				fails(t, err, "items.jsonl has 2 items, the table 3; restore it")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(items[:3], c.Items.Items); diff != "" || c.Len() != 3 {
				t.Errorf("%d items:\n%s", c.Len(), diff)
			}
			got := []string{c.Title("a"), c.Title("b"), c.Title("d")}
			if !slices.Equal(got, []string{"title <a>", "", ""}) {
				t.Errorf("titles %q", got)
			}
		})
	}
	dir := t.TempDir()
	if err := table.Save(dir); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir)
	fails(t, err, "items.jsonl")
}
