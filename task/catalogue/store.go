package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Save stores the table in dir, which is made if it is not there, as manifest.json
// and the IDs in file: ParquetFile (also when empty), which is compact, or
// JSONLFile, which people can read. A table in dir is replaced; until that is
// done, and if it fails, Load still finds the old one. The files depend on the
// table alone, byte for byte.
func (t *Table) Save(dir, file string) error {
	if file == "" {
		file = ParquetFile
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	m, content, err := t.prepare(dir, file)
	if err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	if err := m.write(dir); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, file), content); err != nil {
		return err
	}
	return m.settle(dir)
}

// prepare returns the content of the file of IDs, and a manifest that points
// back to the table that is in dir, if there is one.
func (t *Table) prepare(dir, file string) (*manifest, []byte, error) {
	encode := encodeParquet
	switch file {
	case ParquetFile:
	case JSONLFile:
		encode = encodeJSONL
	default:
		return nil, nil, fmt.Errorf("the file is called %s or %s, not %s", ParquetFile, JSONLFile, file)
	}
	var content bytes.Buffer
	if err := encode(&content, t); err != nil {
		return nil, nil, err
	}
	m := manifestOf(t, describe(file, content.Bytes()))
	if stored, err := readManifest(dir); err == nil {
		if inPlace, _, err := stored.inPlace(dir); err == nil {
			m.Previous = inPlace
			m.Previous.Previous = nil
		}
	}
	return m, content.Bytes(), nil
}

// write stores the manifest.
func (m *manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot store the IDs: %w", err)
	}
	return write(filepath.Join(dir, ManifestFile), append(text, '\n'))
}

// settle drops what a finished replacement has no more use for: the manifest of
// the previous table and, if it had another name, its file.
func (m *manifest) settle(dir string) error {
	if m.Previous == nil {
		return nil
	}
	stale := m.Previous.File.Name
	m.Previous = nil
	if err := m.write(dir); err != nil {
		return err
	}
	if stale != m.File.Name {
		if err := os.Remove(filepath.Join(dir, stale)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the IDs that were replaced: %w", err)
		}
	}
	return nil
}

func write(path string, content []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// describe identifies the content of a file.
func describe(name string, content []byte) fileEntry {
	sum := sha256.Sum256(content)
	return fileEntry{Name: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// Load reads and verifies the table in dir: schema, checksum, codes within their
// vocabularies, names and IDs that are unique. Errors are one sentence that says
// which file is missing or damaged, and what to do.
func Load(dir string) (*Table, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	m, content, err := m.inPlace(dir)
	if err != nil {
		return nil, err
	}
	decode := decodeParquet
	if m.File.Name == JSONLFile {
		decode = decodeJSONL
	}
	t := &Table{method: m.Resolution, tokenizer: m.Tokenizer, levels: m.Levels, vocab: m.Vocab, versions: m.Versions}
	if err = decode(content, t); err == nil {
		err = t.verify(m.Items)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; copy the directory again or build the IDs anew", filepath.Join(dir, m.File.Name), err)
	}
	return t, nil
}

func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noTable(dir)
	}
	if info, missing := os.Stat(dir); missing == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; name a directory that gritvq ids made", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	}
	var other struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(content, &other) == nil && other.Kind != "" { // a table's manifest states none
		return nil, fmt.Errorf("%s is no table of IDs: its %s is of kind %q; name a directory that gritvq ids made", dir, ManifestFile, other.Kind)
	}
	m, err := parseManifest(content)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; copy the directory again or build the IDs anew", path, err)
	}
	return m, nil
}

// inPlace returns the manifest whose file is there, m or the previous one, and
// the content of that file.
func (m *manifest) inPlace(dir string) (*manifest, []byte, error) {
	content, problem := m.File.read(dir)
	if problem == nil {
		return m, content, nil
	}
	if m.Previous != nil {
		if content, err := m.Previous.File.read(dir); err == nil {
			return m.Previous, content, nil
		}
	}
	return nil, nil, problem
}

// read returns the content of the file if it is the one described.
func (f fileEntry) read(dir string) ([]byte, error) {
	path := filepath.Join(dir, f.Name)
	info, err := os.Stat(path)
	const advice = "copy the directory again or build the IDs anew"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing; %s", path, advice)
	case err != nil:
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	case info.Size() < f.Size:
		return nil, fmt.Errorf("%s is truncated: it has %d of %d bytes; %s", path, info.Size(), f.Size, advice)
	case info.Size() > f.Size:
		return nil, fmt.Errorf("%s is damaged: it has %d bytes, not %d; %s", path, info.Size(), f.Size, advice)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	}
	if describe(f.Name, content) != f {
		return nil, fmt.Errorf("%s is damaged: its checksum is not that of the manifest; %s", path, advice)
	}
	return content, nil
}

// verify checks what was read and indexes it.
func (t *Table) verify(items int) error {
	if t.Len() != items {
		return fmt.Errorf("it has %d items, the manifest %d", t.Len(), items)
	}
	for i, code := range t.ids {
		if position := i % t.Width(); uint64(code) >= uint64(t.vocab[position]) {
			return fmt.Errorf("item %q has code %d at position %d, whose vocabulary is %d", t.keys[i/t.Width()], code, position, t.vocab[position])
		}
	}
	if err := t.index(); err != nil {
		return err
	}
	if t.method == Reassign {
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
