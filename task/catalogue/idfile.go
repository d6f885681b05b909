package catalogue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// idRecord is a row of the file of IDs. Original is the last code from the
// tokenizer, which Reassign keeps.
type idRecord struct {
	Item     string  `parquet:"item"`
	Codes    []int32 `parquet:"codes,list"`
	Original *int32  `parquet:"original,optional"`
}

// record returns a row for the file.
func (t *Table) record(row int) idRecord {
	r := idRecord{Item: t.keys[row], Codes: make([]int32, t.Width())}
	for i, code := range t.ID(row) {
		r.Codes[i] = int32(code)
	}
	if t.resolution == Reassign {
		original := int32(t.original[row])
		r.Original = &original
	}
	return r
}

// append takes a row from the file.
func (t *Table) append(r idRecord) error {
	if len(r.Codes) != t.Width() {
		return fmt.Errorf("row %d has %d codes, the manifest %d", t.Len(), len(r.Codes), t.Width())
	}
	if (r.Original != nil) != (t.resolution == Reassign) {
		return fmt.Errorf("row %d does not go with the method %q", t.Len(), t.resolution)
	}
	t.keys = append(t.keys, r.Item)
	for _, code := range r.Codes {
		t.ids = append(t.ids, uint32(code)) // a negative code is beyond every vocabulary
	}
	if r.Original != nil {
		t.original = append(t.original, uint32(*r.Original))
	}
	return nil
}

func encodeParquet(w io.Writer, t *Table) error {
	records := make([]idRecord, t.Len())
	for row := range records {
		records[row] = t.record(row)
	}
	return parquet.Write(w, records, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("gritvq", "", ""))
}

func decodeParquet(content []byte, t *Table) (err error) {
	defer func() { // the decoder panics on some damaged pages
		if problem := recover(); problem != nil {
			err = fmt.Errorf("it cannot be decoded (%v)", problem)
		}
	}()
	size := len(content)
	if size < 12 || string(content[size-4:]) != "PAR1" || int64(binary.LittleEndian.Uint32(content[size-8:])) > int64(size-12) {
		return errors.New("it has no parquet footer")
	}
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(size), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	reader := parquet.NewGenericReader[idRecord](file)
	defer reader.Close()
	for err == nil { // a damaged number of rows must not decide how much is allocated
		records := make([]idRecord, 1024)
		var n int
		n, err = reader.Read(records)
		for _, r := range records[:n] {
			if err := t.append(r); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
