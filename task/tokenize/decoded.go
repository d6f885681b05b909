package tokenize

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task/picture"
)

// decodedItems takes decoded items in order.
type decodedItems interface {
	add(start int, items dataset.Batch) error
	Commit() error
	Abort()
	written(rows int) Written
}

// vectorOutput writes decoded vectors.
type vectorOutput struct {
	vectors.Writer
	path string
	dim  int
}

func (o DecodeOptions) createVectors(t *Opened, rows int) (decodedItems, error) {
	w, err := vectors.Create(o.Output, t.Bundle.Manifest.Input, rows)
	if err != nil {
		return nil, err
	}
	return vectorOutput{w, o.Output, t.Bundle.Manifest.Input}, nil
}

func (v vectorOutput) add(_ int, items dataset.Batch) error { return v.WriteRows(items.Values) }

func (v vectorOutput) written(rows int) Written { return written(v.path, rows, v.dim, 0, "numbers") }

// pictureOutput writes decoded pictures. Their names are the keys that encode
// wrote beside the codes.
type pictureOutput struct {
	*picture.Output
	path  string
	names []string
	size  int // side of a picture
}

func (o DecodeOptions) createPictures(t *Opened, rows int) (decodedItems, error) {
	names, err := pictureNames(o.Input, rows)
	if err != nil {
		return nil, err
	}
	out, err := picture.Create(o.Output, rows)
	if err != nil {
		return nil, err
	}
	return pictureOutput{out, o.Output, names, t.Bundle.Tokenizer.Spec.Model.Image.Size}, nil
}

func (p pictureOutput) add(start int, items dataset.Batch) error {
	each := 3 * p.size * p.size
	for i := range items.N {
		picture := &images.RGB{Width: p.size, Height: p.size, Pix: items.Pixels[i*each : (i+1)*each]}
		if err := p.Add(p.names[start+i], picture); err != nil {
			return err
		}
	}
	return nil
}

func (p pictureOutput) written(rows int) Written {
	return Written{Output: p.path, Rows: rows, Columns: 3 * p.size * p.size, Bytes: p.Bytes(), size: p.size}
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
