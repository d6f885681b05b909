package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/atomicfile"
)

// packedExtension marks the bit-packed format of package codec.
const packedExtension = ".gvq"

func isPacked(path string) bool { return strings.EqualFold(filepath.Ext(path), packedExtension) }

// createCodes starts a file of codes in the format of its extension.
func createCodes(path string, b *bundle.Bundle, vocab []int, rows int) (vectors.CodeWriter, error) {
	if !isPacked(path) {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".npy", ".parquet", ".jsonl":
			return vectors.CreateCodes(path, vocab, rows)
		}
		return nil, usage.Errorf("%s has no extension for codes: use .npy, .parquet, .jsonl or %s", path, packedExtension)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	header := codes.Header{Vocab: make([]uint32, len(vocab)), Rows: uint64(rows), Fingerprint: b.Manifest.Fingerprint()}
	for i, k := range vocab {
		header.Vocab[i] = uint32(k)
	}
	writer, err := codes.NewWriter(file, header)
	if err != nil {
		file.Abort()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &packedWriter{file, writer}, nil
}

// packedWriter makes the packed format a data.CodeWriter.
type packedWriter struct {
	file   *atomicfile.File
	writer *codes.Writer
}

func (w *packedWriter) WriteRows(codes []uint32) error { return w.writer.WriteRows(codes) }

func (w *packedWriter) Commit() error {
	if err := w.writer.Close(); err != nil {
		w.file.Abort()
		return err
	}
	return w.file.Commit()
}

func (w *packedWriter) Abort() { w.file.Abort() }

// codeReader reads codes [Len,Levels] from any format.
type codeReader interface {
	Len() int
	Levels() int
	Rows(start, n int, dst []uint32) error
	Close() error
}

// openCodes opens a file of codes. Packed files name their tokenizer; one of
// another tokenizer is refused unless force.
func openCodes(path string, b *bundle.Bundle, force bool) (codeReader, error) {
	if !isPacked(path) {
		return vectors.OpenCodes(path)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: file does not exist; check the path", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the codes: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot read the codes: %w", err)
	}
	reader, err := codes.NewReader(file, info.Size())
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w; copy or encode it again", path, err)
	}
	if reader.Header().Fingerprint != b.Manifest.Fingerprint() && !force {
		file.Close()
		return nil, fmt.Errorf("%s was encoded by another tokenizer; give the one that made it, or --force to decode anyway", path)
	}
	return &packedReader{file, reader}, nil
}

// packedReader makes the packed format a codeReader.
type packedReader struct {
	file   *os.File
	reader *codes.Reader
}

func (r *packedReader) Len() int    { return int(r.reader.Header().Rows) }
func (r *packedReader) Levels() int { return r.reader.Header().Levels() }

func (r *packedReader) Rows(start, n int, dst []uint32) error {
	if err := r.reader.ReadRows(uint64(start), n, dst); err != nil {
		return fmt.Errorf("%s: %w; copy or encode it again", r.file.Name(), err)
	}
	return nil
}

func (r *packedReader) Close() error { return r.file.Close() }
