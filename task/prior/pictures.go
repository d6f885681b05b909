package prior

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictures are a set of pictures as a tokenizer takes them.
type pictures struct {
	set         *images.Set
	fingerprint string
}

func openPictures(ctx context.Context, path string, b *bundle.Bundle, workers int, w task.Watcher) (*pictures, error) {
	if !dataset.KindOf(path).IsPictures() {
		if _, err := os.Stat(path); err != nil && !dataset.IsSynthetic(path) {
			return nil, fmt.Errorf("cannot read %s: %w; check the path", path, os.ErrNotExist)
		}
		return nil, fmt.Errorf("%s holds no pictures; give a folder or an archive of pictures", path)
	}
	image := b.Tokenizer.Spec.Model.Image
	set, err := images.Open(ctx, path, images.Options{Size: image.Size, Short: image.Short, Workers: workers,
		Warn: func(d images.Damage) { w.Remark("%v; it is left out", &d) }})
	if err != nil {
		return nil, err
	}
	p := &pictures{set: set}
	if p.fingerprint, err = set.Fingerprint(); err != nil {
		set.Close()
		return nil, err
	}
	return p, nil
}

// mirrored is a set of pictures, each as in a mirror.
type mirrored struct {
	dataset.Set
	size int
}

func (m mirrored) Read(rows []int) (dataset.Batch, []int, error) {
	batch, kept, err := m.Set.Read(rows)
	if err == nil {
		mirror(batch.Pixels, m.size)
	}
	return batch, kept, err
}

// mirror swaps left and right of pictures [n, size, size, 3].
func mirror(pixels []uint8, size int) {
	for line := range slices.Chunk(pixels, 3*size) {
		for x := range size / 2 {
			left, right := line[3*x:3*x+3], line[3*(size-1-x):3*(size-x)]
			for i := range left {
				left[i], right[i] = right[i], left[i]
			}
		}
	}
}

// encode returns the codes of the pictures to learn from, of these mirrored, if wanted,
// and of those held out, if given.
func (o *opened) encode(ctx context.Context, backend compute.Backend, d *Dataset, flips bool, cache string, w task.Watcher) (
	[]Rows, error) {
	layout := o.bundle.Tokenizer.Quantizer.Layout()
	d.Layout.Vocab, d.Layout.Cells = layout.Vocab, o.bundle.Tokenizer.Tokens()
	if err := describePictures(d, o.bundle, d.Layout.Cells); err != nil {
		return nil, err
	}
	runtime, err := o.bundle.Runtime(backend)
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", o.Tokenizer, err)
	}
	defer runtime.Close()
	size := o.bundle.Tokenizer.Spec.Model.Image.Size
	passes := []dataset.Set{o.sets[0].set}
	names := keys(o.sets[0].set)
	if flips {
		passes = append(passes, mirrored{o.sets[0].set, size})
		names = append(names, names...)
	}
	if len(o.sets) > 1 {
		passes = append(passes, o.sets[1].set)
		names = append(names, keys(o.sets[1].set)...)
	}
	identity := fmt.Sprintf("prior %s flips %v", o.tokenizerSum(), flips)
	for _, p := range o.sets {
		identity += " " + p.fingerprint
	}
	kept, err := codes.OpenPartial(cache, identity, d.Layout.Tokens())
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	if err := fill(ctx, runtime, passes, kept, w); err != nil {
		return nil, err
	}
	return o.collect(d, passes, kept, names)
}

func keys(set *images.Set) []string {
	names := make([]string, set.Len())
	for i := range names {
		names[i] = set.Key(i)
	}
	return names
}

// fill encodes the rows of all passes that are not kept yet; rows of a pass are
// numbered after those of the passes before.
func fill(ctx context.Context, runtime *tokenizer.Runtime, passes []dataset.Set, kept *codes.Partial, w task.Watcher) error {
	total := 0
	for _, set := range passes {
		total += set.Len()
	}
	if kept.Next() == total {
		return nil
	}
	line := w.Line(total, "pictures")
	defer line.Done()
	base := 0
	for _, set := range passes {
		first := min(max(0, kept.Next()-base), set.Len())
		err := runtime.EncodeRows(ctx, set, dataset.All(set.Len()).From(first), tokenizer.Options{}, func(c tokenizer.Coded) error {
			rows := make([]int, len(c.Rows))
			for i, row := range c.Rows {
				rows[i] = base + row
			}
			line.Update(int64(base+first+c.Done), "encoded")
			return kept.Append(rows, c.Codes)
		})
		if err != nil {
			return err
		}
		base += set.Len()
	}
	return nil
}

// collect returns the rows of every pass. Damaged pictures are missing from all.
func (o *opened) collect(d *Dataset, passes []dataset.Set, kept *codes.Partial, names []string) ([]Rows, error) {
	views := make([]Rows, len(passes))
	var read []string
	pass, end := 0, passes[0].Len()
	err := kept.Each(func(row int, codes []uint32) error {
		for row >= end {
			pass++
			end += passes[pass].Len()
		}
		views[pass].Starts = append(views[pass].Starts, 0)
		views[pass].Codes = append(views[pass].Codes, codes...)
		read = append(read, names[row])
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, rows := range views {
		if rows.Len() == 0 {
			return nil, fmt.Errorf("none of the %d pictures of %s could be read", passes[i].Len(), passes[i].Path())
		}
	}
	return views, o.classify(d, views, read)
}
