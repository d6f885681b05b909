package catalogue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/parquet-go/parquet-go"
)

// SetProvenance says who made the table, when and how; Save stores it.
func (t *Table) SetProvenance(head artifact.Head) {
	t.provenance = artifact.Head{CreatedBy: head.CreatedBy, Created: head.Created, Command: head.Command}
}

// Save stores the table in dir. Until it is complete, and if it fails, Load still finds the table that it
// replaces. The files depend on the table alone, byte for byte.
func (t *Table) Save(dir string) error { return t.save(dir, nil) }

// save stores the table with the content of the file of its items; nil: there is none.
func (t *Table) save(dir string, items []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	m, content, err := t.prepare(dir, items)
	if err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	if err := kind.WriteManifest(dir, m); err != nil {
		return err
	}
	if items != nil {
		if err := writeFile(filepath.Join(dir, ItemsFile), items); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(dir, ParquetFile), content); err != nil || m.Previous == nil {
		return err
	}
	m.Previous = nil
	return kind.WriteManifest(dir, m)
}

// prepare returns the content of the IDs' file, and a manifest that refers to the table in dir.
func (t *Table) prepare(dir string, items []byte) (*manifest, []byte, error) {
	var content bytes.Buffer
	if err := encodeParquet(&content, t); err != nil {
		return nil, nil, err
	}
	m := &manifest{Head: t.provenance, Version: t.Version(), Method: t.resolution, Levels: t.levels, Vocab: t.vocab,
		Items: t.Len(), Tokenizer: t.tokenizer, Versions: t.versions, Cooccurrence: t.taken}
	m.Files = []artifact.File{artifact.DescribeBytes(ParquetFile, content.Bytes())}
	if items != nil {
		m.Files = append(m.Files, artifact.DescribeBytes(ItemsFile, items))
	}
	if stored, err := readManifest(dir); err == nil {
		if stored, err = stored.inPlace(dir); err == nil {
			m.Previous = stored
			m.Previous.Previous = nil
		}
	}
	return m, content.Bytes(), nil
}

func writeFile(path string, content []byte) error {
	return artifact.Bytes(filepath.Base(path), content).Write(path)
}

// Load reads and verifies the table in dir: schema, checksum, codes within their vocabularies, unique names and IDs.
func Load(dir string) (*Table, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if m, err = m.inPlace(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ParquetFile)
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	}
	t := &Table{resolution: m.Method, tokenizer: m.Tokenizer, levels: m.Levels, vocab: m.Vocab, versions: m.Versions, taken: m.Cooccurrence}
	t.SetProvenance(m.Head)
	if err = decodeParquet(content, t); err == nil {
		err = t.verify(m.Items)
	}
	if err != nil {
		return nil, kind.Damaged(path, err)
	}
	return t, nil
}

// inPlace returns the manifest that describes the IDs in dir: m or the previous one. The items may be those of either.
func (m *manifest) inPlace(dir string) (*manifest, error) {
	if err := m.verifyItems(dir); err != nil {
		return nil, err
	}
	err := kind.Verify(dir, m.Files[0])
	if err != nil && m.Previous != nil && kind.Verify(dir, m.Previous.Files[0]) == nil {
		return m.Previous, nil
	}
	return m, err
}

// verifyItems checks the file of items, if it has a checksum.
func (m *manifest) verifyItems(dir string) error {
	items, ok := m.File(ItemsFile)
	if !ok {
		return nil
	}
	err := kind.Verify(dir, items)
	if err != nil && m.Previous != nil {
		if items, ok := m.Previous.File(ItemsFile); !ok || kind.Verify(dir, items) == nil {
			return nil
		}
	}
	return err
}

func (t *Table) verify(items int) error {
	if t.Len() != items {
		return fmt.Errorf("it has %d items, the manifest %d", t.Len(), items)
	}
	for i, code := range t.ids {
		if position := i % t.Width(); uint64(code) >= uint64(t.vocab[position]) {
			return fmt.Errorf("item %q has code %d at position %d, whose vocabulary is %d",
				t.keys[i/t.Width()], code, position, t.vocab[position])
		}
	}
	if err := t.index(); err != nil {
		return err
	}
	if t.moves() {
		for row, code := range t.original {
			if uint64(code) >= uint64(t.vocab[t.levels-1]) {
				return fmt.Errorf("item %q had code %d, beyond the vocabulary of %d", t.keys[row], code, t.vocab[t.levels-1])
			}
		}
		return nil
	}
	if t.resolution == Unique {
		for row := range t.keys {
			if code := t.ID(row)[0]; int(code) != row {
				return fmt.Errorf("item %q has code %d, and its own is %d", t.keys[row], code, row)
			}
		}
		return nil
	}
	// Tokens count from 0 within a group, which also makes IDs unique.
	expected := uint32(0)
	for place, row := range t.order {
		id := t.ID(int(row))
		if place == 0 || !slices.Equal(id[:t.levels], t.ID(int(t.order[place-1]))[:t.levels]) {
			expected = 0
		}
		if id[t.levels] != expected {
			return fmt.Errorf("item %q has token %d, expected %d", t.keys[row], id[t.levels], expected)
		}
		expected++
	}
	return nil
}

type idRecord struct {
	Item     string  `parquet:"item"`
	Codes    []int32 `parquet:"codes,list"`
	Original *int32  `parquet:"original,optional"`
}

func (t *Table) append(r idRecord) error {
	if len(r.Codes) != t.Width() {
		return fmt.Errorf("row %d has %d codes, the manifest %d", t.Len(), len(r.Codes), t.Width())
	}
	if (r.Original != nil) != t.moves() {
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
		r := &records[row]
		r.Item = t.keys[row]
		for _, code := range t.ID(row) {
			r.Codes = append(r.Codes, int32(code))
		}
		if t.moves() {
			r.Original = new(int32(t.original[row]))
		}
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
	if err == nil {
		err = parquetfile.CheckPages(file)
	}
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
