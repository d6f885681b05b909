package prior

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
)

// Source is where codes come from: pictures and the tokenizer that encodes them, or a
// file of codes.
type Source struct {
	Tokenizer string // directory; may be empty with Codes
	Pictures  string // a folder, an archive or a synthetic: name
	Codes     string // file of codes, in place of pictures
	Levels    int    // of the codes of a file: codes of a cell; 0 is the tokenizer's number, or 1
	Held      string // pictures or file of codes to validate with; a share is held out if empty
	Labels    string // see ReadLabels; rows have no classes if empty
	Workers   int    // threads that read pictures; 0 is all cores
}

// check reports options that exclude or need each other.
func (s Source) check() error {
	switch {
	case s.Codes == "" && s.Tokenizer == "":
		return usage.Errorf("name a tokenizer and pictures, or --codes with a file of codes")
	case s.Codes == "" && s.Pictures == "":
		return usage.Errorf("name the pictures to learn from, or --codes with a file of codes of %s", s.Tokenizer)
	case s.Codes != "" && s.Pictures != "":
		return usage.Errorf("%s and --codes %s exclude each other: learn from pictures or from codes", s.Pictures, s.Codes)
	case s.Codes == "" && s.Levels != 0:
		return usage.Errorf("--levels is for --codes; of pictures the tokenizer decides")
	case s.Levels < 0:
		return usage.Errorf("--levels %d must be at least 1", s.Levels)
	}
	return nil
}

// paths lists the inputs.
func (s Source) paths() (paths []string) {
	for _, path := range []string{s.Pictures, s.Codes, s.Held, s.Labels} {
		if path != "" && path != Folders && !dataset.IsSynthetic(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// name is that of the data, without directories.
func (s Source) name() string {
	if s.Codes != "" {
		return filepath.Base(s.Codes)
	}
	return dataset.Name(s.Pictures)
}

// opened is a source whose inputs have been looked at but not encoded.
type opened struct {
	Source
	bundle *bundle.Bundle // nil without a tokenizer
	labels *Labels        // nil without labels
	sets   []*pictures    // those to learn from and, if given, those to validate with
}

func (s Source) open(ctx context.Context, w task.Watcher) (_ *opened, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	o := &opened{Source: s}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	if s.Labels != "" {
		if o.labels, err = ReadLabels(s.Labels); err != nil {
			return nil, err
		}
	}
	if s.Tokenizer != "" {
		if o.bundle, err = bundle.Load(s.Tokenizer); err != nil {
			return nil, err
		}
	}
	if s.Codes != "" {
		return o, nil
	}
	if err := o.bundle.Tokenizer.Expect(dataset.Pictures); err != nil {
		return nil, fmt.Errorf("%s: %w; learn from its codes with --codes", s.Tokenizer, err)
	}
	for _, path := range []string{s.Pictures, s.Held} {
		if path == "" {
			continue
		}
		set, err := openPictures(ctx, path, o.bundle, s.Workers, w)
		if err != nil {
			return nil, err
		}
		o.sets = append(o.sets, set)
		if o.labels != nil {
			if _, err := o.labels.of(keys(set.set)); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

func (o *opened) close() {
	for _, s := range o.sets {
		s.set.Close()
	}
}

// tokenizerSum is the checksum that identifies the tokenizer.
func (o *opened) tokenizerSum() string {
	if o.bundle == nil {
		return ""
	}
	sum := o.bundle.Manifest.Fingerprint()
	return hex.EncodeToString(sum[:])
}

// dataset reads or encodes the rows. Codes of pictures are kept in the file cache, so
// that a killed run does not encode them again.
func (o *opened) dataset(ctx context.Context, backend compute.Backend, c Config, cache string, w task.Watcher) (*Dataset, error) {
	d := &Dataset{Name: o.name()}
	read := func() ([]Rows, error) { return o.readCodes(d) }
	if o.Codes == "" {
		read = func() ([]Rows, error) { return o.encode(ctx, backend, d, c.Flips, cache, w) }
	}
	views, err := read()
	if err != nil {
		return nil, err
	}
	if o.Held != "" {
		d.Validation, views = views[len(views)-1], views[:len(views)-1]
		d.divide(views, 0, 0)
	} else {
		d.divide(views, c.Validation, c.Train.Seed)
	}
	return d, d.check()
}

// readCodes reads files of codes: the rows to learn from and, if given, those held out.
func (o *opened) readCodes(d *Dataset) (views []Rows, err error) {
	levels := max(1, o.Levels)
	if o.bundle != nil {
		layout := o.bundle.Tokenizer.Quantizer.Layout()
		if o.Levels != 0 && o.Levels != layout.Positions() {
			return nil, usage.Errorf("--levels %d: the tokenizer %s has %d; leave it out", o.Levels, o.Tokenizer, layout.Positions())
		}
		levels = layout.Positions()
		d.Layout.Vocab = layout.Vocab
	}
	var names []string // of all rows
	for _, path := range []string{o.Codes, o.Held} {
		if path == "" {
			continue
		}
		rows, cells, fingerprint, err := readRows(path, levels)
		if err != nil {
			return nil, err
		}
		if fingerprint != nil && o.bundle != nil && *fingerprint != o.bundle.Manifest.Fingerprint() {
			return nil, fmt.Errorf("%s holds codes of another tokenizer than %s; give the one that made them", path, o.Tokenizer)
		}
		if d.Layout.Cells != 0 && cells != d.Layout.Cells {
			return nil, fmt.Errorf("the rows of %s have %d cells, those of %s have %d; both must have the same",
				path, cells, o.Codes, d.Layout.Cells)
		}
		d.Layout.Cells = cells
		views, names = append(views, rows), append(names, rowNames(path, rows.Len())...)
	}
	if o.bundle == nil {
		var all []uint32
		for _, rows := range views {
			all = append(all, rows.Codes...)
		}
		d.Layout.Vocab = vocabulary(all, levels)
	}
	d.Height, d.Width = 1, d.Layout.Cells
	if o.bundle != nil && o.bundle.Tokenizer.Spec.Model.Pictures() {
		if err := describePictures(d, o.bundle, d.Layout.Cells); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Codes, err)
		}
	}
	return views, o.classify(d, views, names)
}

// rowNames are the keys that gritvq encode writes beside codes, or the row numbers.
func rowNames(path string, n int) []string {
	if keys, err := codes.ReadKeys(path, n); err == nil && keys != nil {
		return keys
	}
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// classify sets the start tokens of views, whose rows have these names, one view after
// the other.
func (o *opened) classify(d *Dataset, views []Rows, names []string) error {
	if o.labels == nil {
		return nil // without classes all start with token 0
	}
	classes, err := o.labels.of(names)
	if err != nil {
		return err
	}
	d.Classes = classNames(classes)
	d.Layout.Classes = len(d.Classes)
	numbers, err := starts(classes, d.Classes)
	for _, rows := range views {
		copy(rows.Starts, numbers)
		numbers = numbers[rows.Len():]
	}
	return err
}

// describePictures sets grid, pixels and code vectors from a tokenizer of pictures.
func describePictures(d *Dataset, b *bundle.Bundle, cells int) error {
	image := b.Tokenizer.Spec.Model.Image
	if cells != b.Tokenizer.Tokens() {
		return fmt.Errorf("its rows have %d cells, pictures of the tokenizer have %d x %d; encode them with this tokenizer",
			cells, image.Grid(), image.Grid())
	}
	d.Height, d.Width, d.Pixels = image.Grid(), image.Grid(), image.Size*image.Size
	for _, book := range b.Codebooks {
		d.vectors = append(d.vectors, book.Data)
	}
	return nil
}
