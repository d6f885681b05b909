package parquetfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gritvq/gritvq/internal/memory"
)

// The sizes that a page states are checked before the decoder allocates them.
func TestPagesStateWhatTheyHold(t *testing.T) {
	page := func(stored, plain, values int32) format.PageHeader {
		h := format.PageHeader{CompressedPageSize: stored, UncompressedPageSize: plain}
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: values})
		return h
	}
	second := format.PageHeader{}
	second.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: 1 << 30})
	dictionary := format.PageHeader{}
	dictionary.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: 1 << 30})
	const left = 1 << 28
	for name, c := range map[string]struct {
		header format.PageHeader
		want   string
	}{
		"usual":                {page(1000, 2000, 500), ""},
		"all that is left":     {page(left, left, 5), ""},
		"a value a byte":       {page(1000, 1<<27, 1<<27), ""},
		"a constant":           {page(10, 10, 1<<24), ""},
		"more than is left":    {page(left+1, 10, 5), "268435457 bytes where 268435456 are left"},
		"large when unpacked":  {page(10, 1<<28+1, 5), "at most 268435456 are read"},
		"values from nowhere":  {page(10, 10, 1<<24+1), "16777217 values in 10 bytes"},
		"of the second format": {second, "1073741824 values"},
		"a dictionary":         {dictionary, "1073741824 values"},
	} {
		err := checkPage(c.header, left)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lack := &memory.Exceeded{What: "a page", Bytes: 1, Available: 0}
	if err := damaged("x", lack); !errors.Is(err, lack) || strings.Contains(err.Error(), "damaged") {
		t.Errorf("a lack of memory is told as %v", err)
	}
}
