package tokenize

import (
	"cmp"
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
	// FixedPerceptual keeps the weight of the perceptual loss even if it is 0.
	FixedPerceptual bool
}

// Data is an opened Input. Close it when done.
type Data struct {
	vqtrain.Source
	Fingerprint string // of data and held-out data
	Dropped     int    // rows left out
}

// Open opens and summarises the data of a run. A perceptual network for pictures sets the weight of its loss in c.
func (in Input) Open(ctx context.Context, c *vqtrain.Config, watch task.Watcher) (*Data, error) {
	switch pictures := in.Vectors == nil && dataset.KindOf(in.Path).IsPictures(); {
	case pictures && !c.Model.Pictures():
		return nil, usage.Errorf("%s holds pictures, and model.image.size is 0; the configuration is for vectors", in.Path)
	case !pictures && c.Model.Pictures():
		return nil, usage.Errorf("%s is a file of vectors, and the settings are for pictures", in.Path)
	}
	d := &Data{}
	if err := d.open(ctx, in, c, watch); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close closes all files.
func (d *Data) Close() {
	if d.Set != nil {
		d.Source.Close()
	}
}

func (d *Data) open(ctx context.Context, in Input, c *vqtrain.Config, watch task.Watcher) error {
	var set dataset.Set
	var err error
	if in.Vectors != nil {
		set = in.Vectors.View()
	} else if set, d.Dropped, err = openSet(ctx, in.Path, c.Model, in.Drop, in.Workers, watch); err != nil {
		return err
	}
	d.Set, d.HeldSet = set, set
	stats, err := summarize(ctx, set, watch)
	if err != nil {
		return err
	}
	d.Fingerprint, d.Mean, d.Variance = stats.Fingerprint, stats.Mean, stats.Variance
	d.Train, d.Held = dataset.Split(set.Len(), 1-c.Train.Split, c.Seed)
	if in.Held != "" {
		held, _, err := openSet(ctx, in.Held, c.Model, in.Drop, in.Workers, watch)
		if err != nil {
			return err
		}
		d.HeldSet, d.Train, d.Held = held, dataset.All(set.Len()), dataset.All(held.Len())
		if stats, err = summarize(ctx, held, watch); err != nil {
			return err
		}
		if held.Input() != set.Input() {
			return fmt.Errorf("%s has %d dimensions, %s has %d; give vectors of the same kind", in.Held, held.Input(), in.Path, set.Input())
		}
		d.Fingerprint += " held " + stats.Fingerprint
	}
	if c.Model.Pictures() {
		d.Perceptual, err = in.perceptual(c, watch)
	}
	return err
}

// summarize returns the fingerprint, and of vectors mean and variance; it fails on NaN and Inf.
func summarize(ctx context.Context, set dataset.Set, watch task.Watcher) (stats vectors.Stats, err error) {
	v, ok := set.(*vectors.Vectors)
	if !ok {
		stats.Fingerprint, err = set.Fingerprint()
		return stats, err
	}
	line := watch.Line(v.Len(), "rows")
	defer line.Done()
	return v.Scan(ctx, func(done, _ int) { line.Update(int64(done), "read") })
}

// openSet opens what the model is for. With drop, vectors with NaN or Inf are left out and counted.
func openSet(ctx context.Context, path string, c tokenizer.Config, drop bool, workers int, watch task.Watcher) (dataset.Set, int, error) {
	line := watch.Line(0, "files")
	defer line.Done()
	if c.Pictures() {
		set, err := images.Open(ctx, path, images.Options{Size: c.Image.Size, Short: c.Image.Short, Workers: workers,
			Progress: func(done, total int64) {
				if total > 0 {
					line.Of(total, "") // bytes, or members of an archive
				}
				line.Update(done, "of "+path+" read")
			},
			Warn: func(d images.Damage) { watch.Remark("%v; it is left out", &d) },
		})
		if err != nil {
			return nil, 0, err // set is a nil pointer, not a nil Set
		}
		return set, 0, nil
	}
	v, err := vectors.Open(ctx, path, vectors.Options{Progress: func(done, total int) {
		line.Of(int64(total), "rows")
		line.Update(int64(done), "converted")
	}})
	if err != nil {
		return nil, 0, err
	}
	if !drop {
		return v, 0, nil
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

// CheckDimension compares vectors with the input of a tokenizer.
func CheckDimension(set dataset.Set, want int) error {
	if set.Input() != want {
		return fmt.Errorf("%s has %d dimensions, the tokenizer was trained on %d; give vectors of the same kind",
			set.Path(), set.Input(), want)
	}
	return nil
}

// MetricsDir is the given directory of metric networks, or the environment's.
func MetricsDir(given string) string {
	if dir := cmp.Or(given, os.Getenv("GRITVQ_METRICS")); dir != "" {
		return dir
	}
	if dir := os.Getenv("GRITVQ_DATA"); dir != "" {
		return filepath.Join(dir, "metrics")
	}
	return ""
}

// defaultPerceptual is the weight of a perceptual loss that has a network and no chosen weight.
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
