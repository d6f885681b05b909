// Package artifact stores trained models, tables of IDs and other results: a directory of files and a manifest.json with
// their kind, schema, command and checksums.
//
// The manifest is removed first and written last, so a directory without one is unfinished, and a directory with one is
// whole or refused. A kind is declared once, with [Register]; its manifest is a struct that embeds [Head].
package artifact

import (
	"slices"
	"strings"
	"time"
)

// ManifestFile is the name of every manifest.
const ManifestFile = "manifest.json"

// Head is common to all manifests. Write fills in Schema and Files, and Kind if the kind has one name.
type Head struct {
	Schema    int       `json:"schema"`
	Kind      string    `json:"kind"`
	CreatedBy string    `json:"created_by,omitempty"` // such as "gritvq v0.1.0"
	Created   time.Time `json:"created,omitzero"`
	Command   string    `json:"command,omitempty"` // that made it
	Files     []File    `json:"files"`
}

// Manifest is a pointer to a struct that embeds [Head]. Its optional method Upgrade() moves fields of older manifests.
type Manifest interface{ head() *Head }

func (h *Head) head() *Head { return h }

// Provenance returns a head that says who made something, when and how.
func Provenance(by, command string) Head {
	return Head{CreatedBy: by, Created: time.Now().UTC().Truncate(time.Second), Command: command}
}

// File returns the entry of a file.
func (h *Head) File(name string) (File, bool) {
	i := slices.IndexFunc(h.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return h.Files[i], true
}

// Kind describes a kind of artifact. Its methods write and read directories.
type Kind struct {
	Names   []string // values of the manifest's field kind
	Title   string   // in messages, such as "tokenizer"
	Command string   // that makes one, such as "gritvq train"
	Usage   string   // its arguments before the directory, such as "vectors.npy -o"
	Schema  int      // the version that is written, and the newest that is read
	Oldest  int      // the oldest version that is read
	Files   []string // that a manifest may list
	Spare   []string // those of them that may be removed
	Extra   []string // other files of the directory, such as logs and reports
	Begun   []string // files that show, without a manifest, that the making was begun
	// OldKey is a key of manifests that do not state their kind; empty where all do.
	OldKey string
}

var kinds []*Kind

// Register declares a kind, usually from a package variable.
func Register(k Kind) *Kind {
	for _, name := range k.Names {
		if named(name) != nil {
			panic("artifact: kind " + name + " is registered twice")
		}
	}
	kinds = append(kinds, &k)
	return &k
}

func named(name string) *Kind {
	for _, k := range kinds {
		if slices.Contains(k.Names, name) {
			return k
		}
	}
	return nil
}

// make is the command line that makes one in dir.
func (k *Kind) make(dir string) string {
	return strings.Join(strings.Fields(k.Command+" "+k.Usage), " ") + " " + dir
}
