package picture

import (
	"archive/tar"
	"bytes"
	"image/png"
	"io"
	"path/filepath"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
)

// Output writes pictures as PNG: to a tar, one file, or a folder.
type Output struct {
	path string
	one  bool // path is the only picture
	tar  *tar.Writer
	file *atomicfile.File // behind tar
	size int64            // of the pictures so far
}

// Create opens the output for n pictures by its extension.
func Create(path string, n int) (*Output, error) {
	o := &Output{path: path}
	switch dataset.Extension(path) {
	case ".tar":
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		o.file, o.tar = file, tar.NewWriter(file)
		return o, nil
	case ".png":
		if n != 1 {
			return nil, usage.Errorf("%s is one picture and there are %d; name a folder or a .tar", path, n)
		}
		o.one = true
		return o, nil
	case ".npy", ".fvecs", ".parquet", ".jpg", ".jpeg", ".webp", ".zip":
		return nil, usage.Errorf("%s: pictures are decoded to a folder, a .tar or one .png", path)
	}
	return o, output.MakeDir(path)
}

// Add writes a picture; a name is a path without an extension.
func (o *Output) Add(name string, p *images.RGB) error {
	var content bytes.Buffer
	if err := png.Encode(&content, p); err != nil {
		return err
	}
	o.size += int64(content.Len())
	if o.tar != nil {
		if err := o.tar.WriteHeader(&tar.Header{Name: name + ".png", Mode: 0o644, Size: int64(content.Len())}); err != nil {
			return err
		}
		_, err := o.tar.Write(content.Bytes())
		return err
	}
	file := o.path
	if !o.one {
		file = filepath.Join(o.path, filepath.FromSlash(name)+".png")
		if err := output.MakeDir(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return atomicfile.Write(file, func(w io.Writer) error {
		_, err := w.Write(content.Bytes())
		return err
	})
}

// Commit puts a tar in place; files are in place already.
func (o *Output) Commit() error {
	if o.tar == nil {
		return nil
	}
	if err := o.tar.Close(); err != nil {
		return err
	}
	return o.file.Commit()
}

// Bytes is the size of the pictures so far.
func (o *Output) Bytes() int64 { return o.size }

// Abort discards a tar; it does nothing after Commit.
func (o *Output) Abort() {
	if o.file != nil {
		o.file.Abort()
	}
}
