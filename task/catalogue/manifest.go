package catalogue

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/task/catalogue/itemfactors"
)

// Files of a directory of IDs. The manifest and the IDs are the table itself.
const (
	ParquetFile  = "ids.parquet" // the IDs
	UnionFile    = "union.json"  // names the catalogues of a union
	ReportFile   = "report.html"
	TokenizerDir = "tokenizer" // a bundle, unless IDs are dense

	textEncoderFile = "titles.safetensors" // embeds titles, if no embeddings were given
	titleVectors    = "titles.npy"         // embedded titles
	shopVectors     = "shop.npy"           // embeddings of the built-in shop
	unionVectors    = "union.npy"          // of several catalogues, during training
	joinedVectors   = "vectors.npy"        // content and factors of a log
)

var kind = artifact.Register(artifact.Kind{
	Names: []string{"ids"}, Title: "table of IDs", Command: "gritvq ids", Usage: "embeddings.npy -o",
	Schema: 1, Oldest: 1, Files: []string{ParquetFile, ItemsFile}, Spare: []string{ItemsFile}, Extra: []string{UnionFile}, OldKey: "versions",
})

type manifest struct {
	artifact.Head
	Version   int        `json:"version"`
	Method    Resolution `json:"method"`
	Levels    int        `json:"levels"`
	Vocab     []int      `json:"vocab"`
	Items     int        `json:"items"`
	Tokenizer string     `json:"tokenizer,omitempty"`
	Versions  []Version  `json:"versions"`
	// Cooccurrence is what the vectors of the items have from a log.
	Cooccurrence *Cooccurrence `json:"cooccurrence,omitempty"`
	// Previous is the manifest of the table that this one replaces. It is valid while the file of that table is
	// in place: at every moment of a replacement the directory holds the old table or the new one.
	Previous *manifest `json:"previous,omitempty"`
	// OldFile stands for Files in manifests that do not state their kind.
	OldFile *artifact.File `json:"file,omitempty"`
}

func (m *manifest) Upgrade() {
	if m.OldFile != nil && m.Files == nil {
		m.Files, m.OldFile = []artifact.File{*m.OldFile}, nil
	}
	if m.Previous != nil {
		m.Previous.Upgrade()
	}
}

func readManifest(dir string) (*manifest, error) {
	m := &manifest{}
	if err := kind.ReadManifest(dir, m); err != nil {
		return nil, explainUnion(dir, err)
	}
	err := m.check()
	if p := m.Previous; p != nil && (p.Previous != nil || p.check() != nil) {
		err = errors.New("its entry for the previous table makes no sense")
	}
	if err != nil {
		return nil, kind.Damaged(filepath.Join(dir, artifact.ManifestFile), err)
	}
	return m, nil
}

func (m *manifest) check() error {
	width := m.Levels
	switch m.Method {
	case Token:
		width++
	case Reassign, Sinkhorn, Unique:
	default:
		return fmt.Errorf("its method %q is unknown", m.Method)
	}
	if m.Levels < 1 || len(m.Vocab) != width {
		return fmt.Errorf("%d levels and the method %q do not go with %d vocabularies", m.Levels, m.Method, len(m.Vocab))
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
	if c := m.Cooccurrence; c != nil && (c.Rank < 0 || c.Rank > itemfactors.MaxRank) {
		return fmt.Errorf("its %d factors of a log are impossible", c.Rank)
	}
	if n := len(m.Files); n < 1 || n > 2 || m.Files[0].Name != ParquetFile || n == 2 && m.Files[1].Name != ItemsFile {
		return fmt.Errorf("it lists other files than %s and %s", ParquetFile, ItemsFile)
	}
	return nil
}
