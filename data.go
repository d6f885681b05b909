package gritvq

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task/tokenize"
)

// Data is vectors or pictures to train on or to encode.
type Data struct {
	path    string
	vectors *vectors.Vectors // nil for pictures
	images  *images.Set      // opened when a tokenizer decides the size of pictures
}

// Open opens data: vectors in .npy, .npz, .safetensors, .parquet, .fvecs,
// .bvecs, .csv, .tsv or .txt, pictures in a folder, .tar or .zip, or a built-in
// set such as synthetic:manifold. Files of
// any size are read as needed. Close it when done.
func Open(ctx context.Context, path string) (*Data, error) {
	d := &Data{path: path}
	if d.pictures() {
		return d, nil
	}
	v, err := vectors.Open(ctx, path, vectors.Options{})
	d.vectors = v
	return d, err
}

// Vectors is data in memory: rows of dim values, one after the other. The values
// are not copied.
func Vectors(values []float32, dim int) (*Data, error) {
	v, err := vectors.FromSlice("memory", values, dim)
	if err != nil {
		return nil, err
	}
	return &Data{path: v.Path(), vectors: v}, nil
}

// Len is the number of vectors; it is 0 for pictures that were not read yet.
func (d *Data) Len() int {
	switch {
	case d.vectors != nil:
		return d.vectors.Len()
	case d.images != nil:
		return d.images.Len()
	}
	return 0
}

// Close closes the files.
func (d *Data) Close() error {
	if d.vectors != nil {
		return d.vectors.Close()
	}
	if d.images != nil {
		return d.images.Close()
	}
	return nil
}

func (d *Data) pictures() bool { return d.vectors == nil && dataset.KindOf(d.path).IsPictures() }

// open returns the items as t takes them.
func (d *Data) open(ctx context.Context, t *Tokenizer) (dataset.Set, error) {
	model := t.opened.Bundle.Tokenizer
	switch pictures := model.Modality().Kind() == dataset.Pictures; {
	case pictures != d.pictures():
		return nil, fmt.Errorf("%s is not %s, which this tokenizer takes", d.path, model.Modality().Kind())
	case !pictures:
		return d.vectors, tokenize.CheckDimension(d.vectors, model.Input)
	}
	if d.images != nil && d.images.Size() == model.Spec.Model.Image.Size {
		return d.images, nil
	}
	set, err := images.Open(ctx, d.path, images.Options{Size: model.Spec.Model.Image.Size, Short: model.Spec.Model.Image.Short})
	if err != nil {
		return nil, err
	}
	if d.images != nil {
		d.images.Close()
	}
	d.images = set
	return set, nil
}
