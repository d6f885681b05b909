package tokenize

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
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
	if v, ok := set.(*vectors.Vectors); ok && in.Held == "" && d.Held.Len() > 0 {
		if d.Mean, d.Variance, err = v.Moments(ctx, d.Train); err != nil {
			return err
		}
	}
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
