package safetensors

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/memory"
)

// sealName is the tensor at the end of a sealed file: the SHA-256 of all bytes before it.
const sealName = "sha256"

// WriteSealed is Write with a checksum of the whole file in its last tensor. before, which may be nil, is called when
// the file is on the disk and only its name is missing.
func WriteSealed(path string, tensors []Tensor, metadata map[string]string, before func() error) error {
	seal := Tensor{Name: sealName, DType: U8, Shape: []int{sha256.Size}, Data: make([]byte, sha256.Size)}
	for _, t := range tensors {
		if t.DType.Size() < 2 && t.Name >= sealName {
			return fmt.Errorf("writing %s: tensor %q would come after the checksum; choose a name before %q", path, t.Name, sealName)
		}
	}
	parts, err := layout(append([]Tensor{seal}, tensors...), metadata)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	hash := sha256.New()
	if err := write(io.MultiWriter(file, hash), parts[:len(parts)-1]); err != nil {
		return err
	}
	if _, err := file.Write(hash.Sum(nil)); err != nil {
		return err
	}
	if err := file.Flush(); err != nil {
		return err
	}
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	return file.Commit()
}

// ReadSealed loads a file that WriteSealed wrote, and fails unless its checksum is right.
func ReadSealed(path string) (*File, error) {
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read tensors: %w", err)
	}
	file, err := decodeSealed(content)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return file, nil
}

func decodeSealed(content []byte) (*File, error) {
	file, err := Decode(content)
	if err != nil {
		return nil, err
	}
	last := len(file.Tensors) - 1
	if last < 0 || file.Tensors[last].Name != sealName || len(file.Tensors[last].Data) != sha256.Size {
		return nil, errors.New("it has no checksum")
	}
	sum := sha256.Sum256(content[:len(content)-sha256.Size])
	if !bytes.Equal(sum[:], file.Tensors[last].Data) {
		return nil, errors.New("its checksum is not that of its content")
	}
	file.Tensors = file.Tensors[:last]
	delete(file.byName, sealName)
	return file, nil
}
