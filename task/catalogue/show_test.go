package catalogue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
)

func TestShow(t *testing.T) {
	titles := []string{"Red nail polish", "Blue nail polish", "Nail file", "Herbal shampoo", "Green shampoo", ""}
	var items []interactions.Item
	for i, title := range titles {
		items = append(items, interactions.Item{ID: string(rune('a' + i)), Title: title, Text: title})
	}
	table, err := Build([]uint32{1, 0, 1, 0, 1, 2, 0, 1, 0, 3, 3, 3}, []int{4, 4}, strings.Fields("a b c d e f"), BuildOptions{})
	must(t, table, err)
	list, err := interactions.NewCatalogue(items)
	if err != nil {
		t.Fatal(err)
	}
	c := &Catalogue{Table: table, Items: list, dir: "dir"}
	l, err := c.Show([]uint32{1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l)
	const want = `{"prefix":[1],"items":3,"typical_words":["nail","polish"],` +
		`"next":[{"code":0,"items":2,"typical_words":["polish","nail"]},{"code":2,"items":1,"typical_words":[]}],` +
		`"list":[{"item":"a","codes":[1,0,0],"title":"Red nail polish"},{"item":"b","codes":[1,0,1],"title":"Blue nail polish"}]}`
	if err != nil || string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if l, err = c.Show([]uint32{}, 20); err != nil || l.Items != 6 || len(l.List) != 6 || len(l.Next) != 3 {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = c.Show([]uint32{2}, 1)
	fails(t, err, "no item of dir has an ID that begins with 2")
	_, err = c.Show([]uint32{1, 0, 0, 0}, 1)
	fails(t, err, "1-0-0-0 codes for IDs of 3; give fewer")
}

func TestSharedPrefix(t *testing.T) {
	table, err := Build([]uint32{1, 0, 1, 0, 1, 2, 3, 3}, []int{4, 4}, strings.Fields("a b c d"), BuildOptions{})
	must(t, table, err)
	for key, want := range map[string][]uint32{"a": {1, 0}, "c": {1}, "d": {}} {
		if got, ok := table.SharedPrefix(key); !ok || !slices.Equal(got, want) || got == nil {
			t.Errorf("%s shares %v, want %v", key, got, want)
		}
	}
	if _, ok := table.SharedPrefix("e"); ok {
		t.Error("an unknown item has a prefix")
	}
}

func TestCodesAsText(t *testing.T) {
	codes, err := ParseCodes("37-120", "5", "1,2")
	if err != nil || FormatCodes(codes) != "37-120-5-1-2" {
		t.Errorf("%v, %v", codes, err)
	}
	if codes, err = ParseCodes(); err != nil || codes == nil || FormatCodes(codes) != "" {
		t.Errorf("%v, %v", codes, err)
	}
	_, err = ParseCodes("3", "x")
	fails(t, err, `"x" is no code`)
}
