package catalogue

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Schema is the version of the manifest this package writes, and the newest it
// reads.
const Schema = 1

// The files of a stored table: the manifest and one of the others.
const (
	ManifestFile = "manifest.json"
	ParquetFile  = "ids.parquet"
	JSONLFile    = "ids.jsonl"
)

// manifest describes a stored table.
type manifest struct {
	Schema     int        `json:"schema"`
	Version    int        `json:"version"`
	Resolution Resolution `json:"method"`
	Levels     int        `json:"levels"`
	Vocab      []int      `json:"vocab"`
	Items      int        `json:"items"`
	Tokenizer  string     `json:"tokenizer,omitempty"`
	Versions   []Version  `json:"versions"`
	File       fileEntry  `json:"file"`
	// Previous is the manifest of the file that this one replaces. It counts as
	// long as that file is in place: a table that is being replaced is, at every
	// moment, the old one or the new one.
	Previous *manifest `json:"previous,omitempty"`
}

// fileEntry identifies the file of IDs.
type fileEntry struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`
}

// parseManifest reads a manifest and checks what can be checked without the
// other file.
func parseManifest(content []byte) (*manifest, error) {
	var version struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	switch {
	case version.Schema == nil || *version.Schema < 1:
		return nil, errors.New("it states no schema version")
	case *version.Schema > Schema:
		return nil, fmt.Errorf("it has schema %d and this gritvq reads up to %d: upgrade gritvq", *version.Schema, Schema)
	}
	m := &manifest{}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if p := m.Previous; p != nil {
		if p.Previous != nil || p.check() != nil {
			return nil, errors.New("its entry for the previous table makes no sense")
		}
	}
	return m, nil
}

// check refuses a manifest that contradicts itself.
func (m *manifest) check() error {
	width := m.Levels
	switch m.Resolution {
	case Token:
		width++
	case Reassign:
	default:
		return fmt.Errorf("its method %q is unknown", m.Resolution)
	}
	if m.Levels < 1 || len(m.Vocab) != width {
		return fmt.Errorf("%d levels and the method %q do not go with %d vocabularies", m.Levels, m.Resolution, len(m.Vocab))
	}
	for position, size := range m.Vocab {
		if size < 1 || size > maxVocab {
			return fmt.Errorf("its vocabulary of %d at position %d is impossible", size, position)
		}
	}
	items, last := 0, 0
	for i, v := range m.Versions {
		if items += v.Added; v.Number != i+1 || v.Added < 0 || v.Items != items || v.LastVocab < last || v.Moved < 0 || v.Moved > v.Added {
			return fmt.Errorf("entry %d of its log of versions makes no sense", i)
		}
		last = v.LastVocab
	}
	if m.Version != len(m.Versions) || m.Items != items || items < 1 || last != m.Vocab[width-1] {
		return errors.New("its log of versions does not lead to its version, items and vocabulary")
	}
	sum, err := hex.DecodeString(m.File.SHA256)
	if err != nil || len(sum) != 32 || m.File.Size < 0 || !slices.Contains([]string{ParquetFile, JSONLFile}, m.File.Name) {
		return fmt.Errorf("its entry for file %q makes no sense", m.File.Name)
	}
	return nil
}

// manifestOf describes a table.
func manifestOf(t *Table, file fileEntry) *manifest {
	return &manifest{
		Schema: Schema, Version: t.Version(), Resolution: t.method, Levels: t.levels, Vocab: t.vocab,
		Items: t.Len(), Tokenizer: t.tokenizer, Versions: t.versions, File: file,
	}
}
