package catalogue

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/artifact"
)

// SetProvenance says who made the table, when and how; Save stores it.
func (t *Table) SetProvenance(head artifact.Head) {
	t.provenance = artifact.Head{CreatedBy: head.CreatedBy, Created: head.Created, Command: head.Command}
}

// Save stores the table in dir, which is created if needed. A table in dir is
// replaced: until that is complete, and if it fails, Load still finds the old one.
// The files depend on the table alone, byte for byte.
func (t *Table) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	m, content, err := t.prepare(dir)
	if err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	if err := kind.WriteManifest(dir, m); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, ParquetFile), content); err != nil || m.Previous == nil {
		return err
	}
	m.Previous = nil
	return kind.WriteManifest(dir, m)
}

// prepare returns the content of the IDs' file, and a manifest that refers to the
// table in dir, if there is one.
func (t *Table) prepare(dir string) (*manifest, []byte, error) {
	var content bytes.Buffer
	if err := encodeParquet(&content, t); err != nil {
		return nil, nil, err
	}
	m := manifestOf(t, content.Bytes())
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

// Load reads and verifies the table in dir: schema, checksum, codes within their
// vocabularies, names and IDs that are unique. Errors are one sentence that says
// which file is missing or damaged, and what to do.
func Load(dir string) (*Table, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if m, err = m.inPlace(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ParquetFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	}
	t := &Table{resolution: m.Method, tokenizer: m.Tokenizer, levels: m.Levels, vocab: m.Vocab, versions: m.Versions}
	t.SetProvenance(m.Head)
	if err = decodeParquet(content, t); err == nil {
		err = t.verify(m.Items)
	}
	if err != nil {
		return nil, kind.Damaged(path, err)
	}
	return t, nil
}

// inPlace returns the manifest that describes the file in dir: m or the previous one.
func (m *manifest) inPlace(dir string) (*manifest, error) {
	err := kind.Verify(dir, m.Files...)
	if err != nil && m.Previous != nil && kind.Verify(dir, m.Previous.Files...) == nil {
		return m.Previous, nil
	}
	return m, err
}

// verify checks the rows that were read and indexes them.
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
	if t.resolution == Reassign {
		for row, code := range t.original {
			if uint64(code) >= uint64(t.vocab[t.levels-1]) {
				return fmt.Errorf("item %q had code %d, beyond the vocabulary of %d", t.keys[row], code, t.vocab[t.levels-1])
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
