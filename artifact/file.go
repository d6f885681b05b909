package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// File is the entry of a file in a manifest.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`   // -1: not recorded
}

// Sum returns the checksum as bytes; ok is false if it is malformed.
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
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(k.Spare, want.Name):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is missing; %s", path, k.advice())
		case err != nil:
			return fmt.Errorf("cannot read the %s: %w", k.Title, err)
		case !info.Mode().IsRegular():
			return k.Damaged(path, errors.New("it is no regular file"))
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
