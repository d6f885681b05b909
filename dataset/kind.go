package dataset

import (
	"os"
	"path/filepath"
	"strings"
)

// Kind is the content of an input.
type Kind string

// The kinds of input. The values are the words for messages.
const (
	Vectors      Kind = "vectors"                // a matrix of embeddings
	Pictures     Kind = "pictures"               // a folder or an archive
	Picture      Kind = "a picture"              // a single file
	Items        Kind = "items"                  // a catalogue with titles
	Interactions Kind = "interactions"           // a log of users and items
	Shop         Kind = "interactions and items" // items, their embeddings and interactions
)

var extensions = map[string]Kind{}

// Register makes KindOf recognise file extensions such as ".npy". Packages
// that read files call it when they are initialised, as image decoders do. An
// extension that several kinds share goes to one of them: .parquet to vectors,
// .csv to items; a command that expects another kind knows better.
func Register(kind Kind, list ...string) {
	for _, extension := range list {
		extensions[extension] = kind
	}
}

// KindOf recognises an input by its synthetic: name, by being a folder
// (pictures), or by its extension. Anything else counts as vectors, whose
// reader looks at the first bytes and lists the formats it knows.
func KindOf(path string) Kind {
	if IsSynthetic(path) {
		return syntheticKind(path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Pictures
	}
	if kind, known := extensions[Extension(path)]; known {
		return kind
	}
	return Vectors
}

// IsPictures reports whether the kind is one picture or several.
func (k Kind) IsPictures() bool { return k == Picture || k == Pictures }

// Extension is a path's extension in lower case.
func Extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// Name is a data set's path without its directory; synthetic names stay whole.
func Name(path string) string {
	if IsSynthetic(path) {
		return path
	}
	return filepath.Base(path)
}
