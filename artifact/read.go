package artifact

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/seal"
)

// Causes of errors, besides [fs.ErrNotExist] if there is no artifact.
var (
	ErrUnfinished  = errors.New("unfinished")
	ErrNewerSchema = errors.New("newer schema")
)

// causedError is a sentence with a cause that it does not spell out.
type causedError struct {
	text  string
	cause error
}

func (e *causedError) Error() string { return e.text }
func (e *causedError) Unwrap() error { return e.cause }

func because(cause error, format string, args ...any) error {
	return &causedError{fmt.Sprintf(format, args...), cause}
}

// Read reads the manifest in dir into m and verifies the files that it lists. Errors name the problem and a remedy.
func (k *Kind) Read(dir string, m Manifest) error {
	if err := k.ReadManifest(dir, m); err != nil {
		return err
	}
	return k.Verify(dir, m.head().Files...)
}

// ReadManifest reads the manifest in dir into m without looking at other files.
func (k *Kind) ReadManifest(dir string, m Manifest) error {
	state, err := k.State(dir)
	if err != nil {
		return err
	}
	switch state {
	case Unfinished:
		return because(ErrUnfinished, "the %s in %s is unfinished; repeat %s with --resume", k.Title, dir, k.Command)
	case Absent:
		if _, err := os.Stat(dir); err != nil {
			return because(fs.ErrNotExist, "there is no %s %s; make one with: %s", k.Title, dir, k.make(dir))
		}
		return because(fs.ErrNotExist, "%s is no %s: it has no %s; make one with: %s", dir, k.Title, ManifestFile, k.make("NEW"))
	}
	path := filepath.Join(dir, ManifestFile)
	content, err := memory.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the %s: %w", k.Title, err)
	}
	h, err := parseHead(content)
	if err != nil {
		return k.Damaged(path, err)
	}
	if of := named(h.Kind); of != k {
		return k.otherKind(dir, h.Kind, of)
	}
	switch by := cmp.Or(h.CreatedBy, "an unknown version"); {
	case h.Schema > k.Schema:
		return because(ErrNewerSchema, "%s has schema %d, made by %s, and this gritvq reads up to schema %d; upgrade gritvq",
			path, h.Schema, by, k.Schema)
	case h.Schema < 1:
		return k.Damaged(path, errors.New("it states no schema version"))
	case h.Schema < k.Oldest:
		return fmt.Errorf("%s has schema %d, made by %s, which this gritvq no longer reads; make it again with: %s",
			path, h.Schema, by, k.make(dir))
	}
	err = k.parse(content, m)
	if err == nil {
		err = seal.Verify(content, m)
	}
	if err != nil {
		return k.Damaged(path, err)
	}
	return nil
}

func (k *Kind) parse(content []byte, m Manifest) error {
	if err := json.Unmarshal(content, m); err != nil {
		return err
	}
	if m.head().Kind == "" {
		m.head().Kind = k.Names[0]
	}
	if old, ok := m.(interface{ Upgrade() }); ok {
		old.Upgrade()
	}
	return k.checkEntries(m.head().Files)
}

// parseHead reads the common part. Manifests that do not state their kind are recognised by their keys.
func parseHead(content []byte) (h Head, err error) {
	var common struct { // other fields may have other types in other kinds
		Schema    int    `json:"schema"`
		Kind      string `json:"kind"`
		CreatedBy string `json:"created_by"`
	}
	var keys map[string]json.RawMessage
	if err = json.Unmarshal(content, &keys); err == nil {
		err = json.Unmarshal(content, &common)
	}
	if err != nil {
		return h, fmt.Errorf("it is no JSON object: %w", err)
	}
	h = Head{Schema: common.Schema, Kind: common.Kind, CreatedBy: common.CreatedBy}
	for _, k := range kinds {
		if _, ok := keys[k.OldKey]; ok && h.Kind == "" {
			h.Kind = k.Names[0]
		}
	}
	return h, nil
}

// Identify returns the kind of dir, nil if it is not registered, and the head of its manifest without files. Without a
// manifest the error is that of [os.ReadFile].
func Identify(dir string) (*Kind, Head, error) {
	content, err := memory.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, Head{}, err
	}
	h, err := parseHead(content)
	return named(h.Kind), h, err
}

// otherKind describes the content of dir, and names a directory below it with an artifact of this kind.
func (k *Kind) otherKind(dir, name string, of *Kind) error {
	holds, advice := "something else", fmt.Sprintf("name a directory that %s made", k.Command)
	switch {
	case of != nil:
		holds = fmt.Sprintf("a %s (kind %q)", of.Title, name)
	case name != "":
		holds = fmt.Sprintf("of kind %q", name)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		below := filepath.Join(dir, e.Name())
		if found, _, err := Identify(below); err == nil && found == k {
			advice = "there is one in " + below
			break
		}
	}
	return fmt.Errorf("%s is no %s but %s; %s", dir, k.Title, holds, advice)
}

// Output is [Kind.State] for those who write the artifact. It refuses a directory with an artifact of another kind, also where
// its own may be replaced.
func (k *Kind) Output(dir string) (State, error) {
	state, err := k.State(dir)
	if err != nil || state != Finished {
		return state, err
	}
	if holds, _, _ := Identify(dir); holds != nil && holds != k {
		return state, fmt.Errorf("%s holds a %s; choose another directory", dir, holds.Title)
	}
	return state, nil
}

// State says how far the artifact in a directory is.
type State int

// The states of a directory.
const (
	Absent     State = iota // no directory, or no file of the kind in it
	Unfinished              // begun
	Finished                // a manifest, of any kind
)

// State looks at dir without reading files. A path that is no directory is an error.
func (k *Kind) State(dir string) (State, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return Absent, fmt.Errorf("cannot use %s: %w; choose another directory", dir, err)
	}
	if !info.IsDir() {
		return Absent, fmt.Errorf("%s is a file; a %s is a directory", dir, k.Title)
	}
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if exists(ManifestFile) {
		return Finished, nil
	}
	for _, name := range k.Begun {
		if exists(name) {
			return Unfinished, nil
		}
	}
	return Absent, nil
}
