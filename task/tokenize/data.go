package tokenize

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Input names the data of a run.
type Input struct {
	Path    string           // vectors or pictures, see [dataset.KindOf]
	Vectors *vectors.Vectors // in place of Path, which names them; the caller closes them
	Held    string           // held-out data; empty: part of Path
	Drop    bool             // leave out vectors with NaN or Inf
	Workers int              // threads that read pictures; 0 is all cores
	Metrics string           // directory of metric networks; empty: the environment's
	// FixedPerceptual says that the weight of the perceptual loss is decided, even
	// if it is 0.
	FixedPerceptual bool
}

// Data is an opened Input. Close it when done.
type Data struct {
	vqtrain.Source
	Fingerprint string        // of data and held-out data
	Stats       vectors.Stats // of vectors
	Dropped     int           // rows left out
}

// Open opens and summarises the data of a run with a configuration. Pictures may
// bring a perceptual network, which sets the weight of its loss in c.
func (in Input) Open(ctx context.Context, c *vqtrain.Config, watch task.Watcher) (*Data, error) {
	switch pictures := in.Vectors == nil && dataset.KindOf(in.Path).IsPictures(); {
	case pictures && !c.Model.Pictures():
		return nil, usage.Errorf("%s holds pictures, and model.image.size is 0; the configuration is for vectors", in.Path)
	case !pictures && c.Model.Pictures():
		return nil, usage.Errorf("%s is a file of vectors, and the settings are for pictures", in.Path)
	}
	open := in.openVectors
	if c.Model.Pictures() {
		open = in.openPictures
	}
	d := &Data{}
	if err := open(ctx, c, watch, d); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the files that are open.
func (d *Data) Close() {
	if d.Set != nil {
		d.Source.Close()
	}
}

func (in Input) openVectors(ctx context.Context, c *vqtrain.Config, watch task.Watcher, d *Data) error {
	v, dropped, err := in.Vectors, 0, error(nil)
	if v != nil {
		v = v.View()
	} else if v, dropped, err = OpenVectors(ctx, in.Path, in.Drop, watch); err != nil {
		return err
	}
	d.Set, d.HeldSet, d.Dropped = v, v, dropped
	if d.Stats, err = scan(ctx, v, watch); err != nil {
		return err
	}
	d.Fingerprint, d.Mean, d.Variance = d.Stats.Fingerprint, d.Stats.Mean, d.Stats.Variance
	if in.Held == "" {
		d.Train, d.Held = dataset.Split(v.Len(), 1-c.Train.Split, c.Seed)
		return nil
	}
	h, _, err := OpenVectors(ctx, in.Held, in.Drop, watch)
	if err != nil {
		return err
	}
	d.Train, d.HeldSet, d.Held = dataset.All(v.Len()), h, dataset.All(h.Len())
	heldStats, err := scan(ctx, h, watch)
	if err == nil && h.Dim() != v.Dim() {
		err = fmt.Errorf("%s has %d dimensions, %s has %d; give vectors of the same kind", in.Held, h.Dim(), in.Path, v.Dim())
	}
	d.Fingerprint += " held " + heldStats.Fingerprint
	d.Stats.Fingerprint = d.Fingerprint
	return err
}

func (in Input) openPictures(ctx context.Context, c *vqtrain.Config, watch task.Watcher, d *Data) error {
	set, err := OpenPictures(ctx, in.Path, c.Model.Image, in.Workers, watch)
	if err != nil {
		return err
	}
	d.Set, d.HeldSet = set, set
	d.Train, d.Held = dataset.Split(set.Len(), 1-c.Train.Split, c.Seed)
	if d.Fingerprint, err = set.Fingerprint(); err != nil {
		return err
	}
	if in.Held != "" {
		held, err := OpenPictures(ctx, in.Held, c.Model.Image, in.Workers, watch)
		if err != nil {
			return err
		}
		d.HeldSet, d.Train, d.Held = held, dataset.All(set.Len()), dataset.All(held.Len())
		fingerprint, err := held.Fingerprint()
		if err != nil {
			return err
		}
		d.Fingerprint += " held " + fingerprint
	}
	d.Perceptual, err = in.perceptual(c, watch)
	return err
}

// OpenVectors opens a file of vectors and shows the progress of a conversion.
// With drop, rows with NaN or Inf are left out and counted.
func OpenVectors(ctx context.Context, path string, drop bool, watch task.Watcher) (v *vectors.Vectors, dropped int, err error) {
	line := watch.Line(0, "rows")
	v, err = vectors.Open(ctx, path, vectors.Options{Progress: func(done, total int) {
		line.Of(int64(total), "rows")
		line.Update(int64(done), "converted")
	}})
	line.Done()
	if err != nil || !drop {
		return v, 0, err
	}
	view, dropped, err := v.DropNonFinite(ctx)
	v.Close()
	if err != nil {
		return nil, 0, err
	}
	if dropped > 0 {
		watch.Remark("left out %d of %d rows of %s with NaN or Inf", dropped, view.Len()+dropped, path)
	}
	return view, dropped, nil
}

// scan summarises vectors.
func scan(ctx context.Context, v *vectors.Vectors, watch task.Watcher) (vectors.Stats, error) {
	line := watch.Line(v.Len(), "rows")
	defer line.Done()
	return v.Scan(ctx, func(done, _ int) { line.Update(int64(done), "read") })
}

// OpenPictures opens a set of pictures as squares; damaged pictures are reported
// once.
func OpenPictures(ctx context.Context, path string, c tokenizer.Image, workers int, watch task.Watcher) (*images.Set, error) {
	line := watch.Line(0, "files")
	defer line.Done()
	return images.Open(ctx, path, images.Options{Size: c.Size, Short: c.Short, Workers: workers,
		Progress: func(done, total int64) {
			if total > 0 {
				line.Of(total, "") // bytes, or members of an archive
			}
			line.Update(done, "of "+path+" read")
		},
		Warn: func(d images.Damage) { watch.Remark("%v; it is left out", &d) },
	})
}

// MetricsDir is the directory of metric networks: the given one, or the
// environment's.
func MetricsDir(given string) string {
	if given != "" {
		return given
	}
	if dir := os.Getenv("GRITVQ_METRICS"); dir != "" {
		return dir
	}
	if dir := os.Getenv("GRITVQ_DATA"); dir != "" {
		return filepath.Join(dir, "metrics")
	}
	return ""
}

// defaultPerceptual is the weight of the perceptual loss if there is a network
// and no weight was chosen.
const defaultPerceptual = 0.1

// perceptual finds the network of the perceptual loss and sets its weight.
func (in Input) perceptual(c *vqtrain.Config, watch task.Watcher) (*feature.LPIPS, error) {
	chosen := in.FixedPerceptual || c.Train.Perceptual > 0
	if chosen && c.Train.Perceptual == 0 {
		return nil, nil
	}
	dir := MetricsDir(in.Metrics)
	files, err := filepath.Glob(filepath.Join(dir, "lpips*.safetensors"))
	if err != nil || dir == "" || len(files) == 0 {
		if chosen {
			return nil, fmt.Errorf("the perceptual loss needs a file lpips*.safetensors: " +
				"name its directory with --metrics, or pass --perceptual 0")
		}
		watch.Remark("training without a perceptual loss: no network was given (--metrics DIR)")
		return nil, nil
	}
	network, err := feature.LoadLPIPS(files[0])
	if err != nil {
		return nil, err
	}
	if !chosen {
		c.Train.Perceptual = defaultPerceptual
	}
	watch.Remark("perceptual loss: %s at weight %g", network.Name(), c.Train.Perceptual)
	return network, nil
}

// checkFinite reports the first row of a block [n,dim] with NaN or Inf. start is
// the block's first row.
func checkFinite(path string, block []float32, dim, start int, advice string) error {
	for i, x := range block {
		if x-x != 0 {
			return fmt.Errorf("row %d of %s holds NaN or Inf; %s", start+i/dim, path, advice)
		}
	}
	return nil
}

// CheckDimension compares vectors with the input of a tokenizer.
func CheckDimension(v *vectors.Vectors, want int) error {
	if v.Dim() != want {
		return fmt.Errorf("%s has %d dimensions, the tokenizer was trained on %d; give vectors of the same kind", v.Path(), v.Dim(), want)
	}
	return nil
}
