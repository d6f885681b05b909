package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/seal"
)

// Part is a file to be stored.
type Part struct {
	Name  string
	Write func(path string) error // whole or not at all
}

// Bytes is a file with this content.
func Bytes(name string, content []byte) Part {
	return Part{name, func(path string) error {
		return atomicfile.Write(path, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	}}
}

// Write stores parts and their manifest in dir, which must exist. After an error dir holds no manifest.
func (k *Kind) Write(dir string, m Manifest, parts ...Part) error {
	if err := k.remove(dir, ManifestFile); err != nil {
		return err
	}
	h := m.head()
	h.Files = nil
	for _, p := range parts {
		if err := p.Write(filepath.Join(dir, p.Name)); err != nil {
			return err
		}
		f, err := Describe(dir, p.Name)
		if err != nil {
			return err
		}
		h.Files = append(h.Files, f)
	}
	return k.WriteManifest(dir, m)
}

// WriteManifest stores the manifest alone, for a caller that keeps the other files itself.
func (k *Kind) WriteManifest(dir string, m Manifest) error {
	h := m.head()
	if h.Schema = k.Schema; len(k.Names) == 1 {
		h.Kind = k.Names[0]
	}
	err := k.checkEntries(h.Files)
	if named(h.Kind) != k {
		err = fmt.Errorf("%q is no kind of %s", h.Kind, k.Title)
	}
	if err != nil {
		return fmt.Errorf("storing the manifest: %w", err)
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("storing the manifest: %w", err)
	}
	if content, err = seal.Add(content); err != nil {
		return fmt.Errorf("storing the manifest: %w", err)
	}
	return Bytes(ManifestFile, content).Write(filepath.Join(dir, ManifestFile))
}

// Clear removes the kind's files from dir, the manifest first, and temporary files of a killed process.
func (k *Kind) Clear(dir string) error {
	for _, name := range k.names() {
		if err := k.remove(dir, name); err != nil {
			return err
		}
	}
	return k.Sweep(dir)
}

// Sweep removes the temporary files that a killed process left in dir.
func (k *Kind) Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, err)
	}
	for _, e := range entries {
		for _, name := range append(k.names(), k.Begun...) {
			if strings.HasPrefix(e.Name(), "."+name+".") && strings.HasSuffix(e.Name(), ".tmp") {
				if err := k.remove(dir, e.Name()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// names lists the files of an artifact, the manifest first.
func (k *Kind) names() []string {
	return append(append([]string{ManifestFile}, k.Files...), k.Extra...)
}

func (k *Kind) remove(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace the %s: %w", k.Title, err)
	}
	return nil
}

func (k *Kind) advice() string {
	return fmt.Sprintf("copy the directory again, or make it again with %s", k.Command)
}
