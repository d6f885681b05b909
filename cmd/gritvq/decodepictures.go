package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// decodePictures turns rows of codes back into pictures: PNG files in a folder or
// a tar, or one PNG where there is one row. Names come from the keys that encode
// wrote beside the codes.
func decodePictures(ctx context.Context, s *cli.Streams, o decodeOptions, b *bundle.Bundle, r *tokenizer.Runtime) error {
	codes, err := openCodes(o.input, b, o.force)
	if err != nil {
		return err
	}
	defer codes.Close()
	layout, cells := b.Manifest.Layout, b.Tokenizer.Tokens()
	positions := codes.Levels() / cells
	if codes.Levels()%cells != 0 || positions%layout.Parts != 0 || positions > layout.Parts*layout.Levels {
		return fmt.Errorf("%s has %d codes a row, the tokenizer makes %d for a picture; give codes that it made", o.input, codes.Levels(), cells*layout.Parts*layout.Levels)
	}
	names, err := pictureNames(o.input, codes.Len())
	if err != nil {
		return err
	}
	out, err := createPictures(o.output, codes.Len())
	if err != nil {
		return err
	}
	defer out.abort()
	size := b.Tokenizer.Spec.Model.Image.Size
	line := s.Line(codes.Len(), "pictures")
	defer line.Done()
	vocab := b.Tokenizer.Quantizer.Layout().VocabOf(positions / layout.Parts)
	for start := 0; start < codes.Len(); start += pictureBlock {
		n := min(pictureBlock, codes.Len()-start)
		block := make([]uint32, n*codes.Levels())
		if err := codes.Rows(start, n, block); err != nil {
			return err
		}
		if err := checkCodes(o.input, block, vocab, start*cells); err != nil {
			return err
		}
		pixels, err := r.DecodePictures(ctx, block, n, positions)
		if err != nil {
			return fmt.Errorf("decoding rows %d to %d of %s: %w", start, start+n-1, o.input, err)
		}
		for i := range n {
			p := &images.RGB{Width: size, Height: size, Pix: pixels[i*b.Manifest.Input : (i+1)*b.Manifest.Input]}
			if err := out.add(names[start+i], p); err != nil {
				return err
			}
		}
		line.Update(int64(start+n), "decoded")
	}
	if err := out.commit(); err != nil {
		return err
	}
	line.Done()
	w := written{Output: o.output, Rows: codes.Len(), Columns: b.Manifest.Input, Bytes: out.bytes()}
	if o.json {
		return s.WriteJSON(w)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s of %d x %d pixels, %sB\n", o.output, report.Counted(w.Rows, "picture"), size, size, report.Short(float64(w.Bytes), 3))
	return err
}

// pictureNames are the keys beside a file of codes, or numbers.
func pictureNames(codes string, n int) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%06d", i)
	}
	content, err := os.ReadFile(keysPath(codes))
	if err != nil {
		return names, nil // codes may travel without their keys
	}
	keys := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if len(keys) != n {
		return nil, fmt.Errorf("%s names %d pictures, %s holds %d; remove it to number them", keysPath(codes), len(keys), codes, n)
	}
	for i, key := range keys {
		// A key is a path inside an archive: it must stay below the output.
		if clean := path.Clean("/" + key)[1:]; clean != "" {
			names[i] = clean
		}
	}
	return names, nil
}

// pictureSink takes pictures in order.
type pictureSink interface {
	add(name string, p *images.RGB) error
	commit() error
	abort()
	bytes() int64 // of the pictures so far, as PNG
}

// createPictures opens the path by its name: a .tar, a .png for a single
// picture, else a folder.
func createPictures(path string, n int) (pictureSink, error) {
	switch extension := strings.ToLower(filepath.Ext(path)); extension {
	case ".tar":
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		return &tarSink{file: file, writer: tar.NewWriter(file)}, nil
	case ".png":
		if n != 1 {
			return nil, usage.Errorf("%s is one picture and there are %d; name a folder or a .tar", path, n)
		}
		return &folderSink{single: path}, nil
	case ".npy", ".fvecs", ".parquet", ".jpg", ".jpeg", ".webp", ".zip":
		return nil, usage.Errorf("%s: pictures are decoded to a folder, a .tar or one .png", path)
	}
	if err := output.MakeDir(path); err != nil {
		return nil, err
	}
	return &folderSink{dir: path}, nil
}

// folderSink writes a PNG a picture.
type folderSink struct {
	dir    string
	single string // the one file, in place of a folder
	size   int64
}

func (f *folderSink) add(name string, p *images.RGB) error {
	file := f.single
	if file == "" {
		file = filepath.Join(f.dir, filepath.FromSlash(name)+".png")
		if err := output.MakeDir(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return atomicfile.Write(file, func(w io.Writer) error {
		var content bytes.Buffer
		if err := png.Encode(&content, p); err != nil {
			return err
		}
		n, err := w.Write(content.Bytes())
		f.size += int64(n)
		return err
	})
}

func (f *folderSink) commit() error { return nil }
func (f *folderSink) abort()        {}
func (f *folderSink) bytes() int64  { return f.size }

// tarSink writes a tar of PNGs.
type tarSink struct {
	file   *atomicfile.File
	writer *tar.Writer
	size   int64
}

func (t *tarSink) add(name string, p *images.RGB) error {
	var content bytes.Buffer
	if err := png.Encode(&content, p); err != nil {
		return err
	}
	if err := t.writer.WriteHeader(&tar.Header{Name: name + ".png", Mode: 0o644, Size: int64(content.Len())}); err != nil {
		return err
	}
	n, err := t.writer.Write(content.Bytes())
	t.size += int64(n)
	return err
}

func (t *tarSink) commit() error {
	if err := t.writer.Close(); err != nil {
		return err
	}
	return t.file.Commit()
}

func (t *tarSink) abort()       { t.file.Abort() }
func (t *tarSink) bytes() int64 { return t.size }
