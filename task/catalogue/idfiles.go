package catalogue

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// idRecord is a row of the file of IDs. Original is the last code before it
// moved, which Reassign keeps.
type idRecord struct {
	Item     string  `json:"item" parquet:"item"`
	Codes    []int32 `json:"codes" parquet:"codes,list"`
	Original *int32  `json:"original,omitempty" parquet:"original,optional"`
}

// record returns a row for the file.
func (t *Table) record(row int) idRecord {
	r := idRecord{Item: t.keys[row], Codes: make([]int32, t.Width())}
	for i, code := range t.ID(row) {
		r.Codes[i] = int32(code)
	}
	if t.method == Reassign {
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
	if (r.Original != nil) != (t.method == Reassign) {
		return fmt.Errorf("row %d does not go with the method %q", t.Len(), t.method)
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

func encodeJSONL(w io.Writer, t *Table) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for row := range t.Len() {
		if err := encoder.Encode(t.record(row)); err != nil {
			return err
		}
	}
	return nil
}

// maxLine bounds a line of a .jsonl file.
const maxLine = 16 << 20

func decodeJSONL(content []byte, t *Table) error {
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		var r idRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf(`row %d is no line like {"item":"a","codes":[1,2]}`, t.Len())
		}
		if err := t.append(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// parquetRows are encoded at a time.
const parquetRows = 4096

func encodeParquet(w io.Writer, t *Table) error {
	writer := parquet.NewGenericWriter[idRecord](w, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("gritvq", "", ""))
	var records []idRecord
	for row := range t.Len() {
		if records = append(records, t.record(row)); len(records) == parquetRows || row+1 == t.Len() {
			if _, err := writer.Write(records); err != nil {
				return err
			}
			records = records[:0]
		}
	}
	return writer.Close()
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
	records := make([]idRecord, 1024)
	for {
		clear(records) // or the lists of earlier rows would be written over
		n, err := reader.Read(records)
		for _, r := range records[:n] {
			if err := t.append(r); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
