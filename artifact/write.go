package artifact

import (
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
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
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
	return Bytes(ManifestFile, append(content, '\n')).Write(filepath.Join(dir, ManifestFile))
}

// Clear removes the kind's files from dir, the manifest first, and what a killed process left of them.
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

// File is the entry of a file in a manifest.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`   // -1: not recorded
}

// Sum returns the checksum as bytes; ok is false if it is none.
func (f File) Sum() (sum [sha256.Size]byte, ok bool) {
	decoded, err := hex.DecodeString(f.SHA256)
	if err != nil || len(decoded) != len(sum) {
		return sum, false
	}
	copy(sum[:], decoded)
	return sum, true
}

// DescribeBytes returns the entry of a file with this content.
func DescribeBytes(name string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{Name: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// Describe measures a file in dir.
func Describe(dir, name string) (File, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return File{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return File{}, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return File{Name: name, SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size}, nil
}

// Verify compares files in dir with their entries.
func (k *Kind) Verify(dir string, files ...File) error {
	for _, want := range files {
		path := filepath.Join(dir, want.Name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is missing; %s", path, k.advice())
		case err != nil:
			return fmt.Errorf("cannot read the %s: %w", k.Title, err)
		case info.Size() < want.Size:
			return fmt.Errorf("%s is truncated: it has %d of %d bytes; %s", path, info.Size(), want.Size, k.advice())
		}
		got, err := Describe(dir, want.Name)
		if err != nil {
			return err
		}
		if got.SHA256 != want.SHA256 || want.Size >= 0 && got.Size != want.Size {
			return k.Damaged(path, errors.New("its checksum is not that of the manifest"))
		}
	}
	return nil
}

// checkEntries refuses file entries that cannot be right.
func (k *Kind) checkEntries(files []File) error {
	for _, f := range files {
		if _, ok := f.Sum(); !ok || f.Size < -1 || !slices.Contains(k.Files, f.Name) {
			return fmt.Errorf("its entry for file %q makes no sense", f.Name)
		}
	}
	if len(files) == 0 {
		return errors.New("it lists no files")
	}
	return nil
}

// Damaged is the error for a file whose content makes no sense.
func (k *Kind) Damaged(path string, why error) error {
	return fmt.Errorf("%s is damaged: %w; %s", path, why, k.advice())
}

func (k *Kind) advice() string {
	return fmt.Sprintf("copy the directory again, or make it again with %s", k.Command)
}
