package main

import (
	"context"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/task/picture"
)

// compareData is what a comparison runs on.
type compareData struct {
	compare.Data
	task    compare.Task
	input   int      // numbers of an item
	metrics []string // networks of the scores
	close   func()
}

// open opens the data of a comparison and settles what of the plan depends on
// it. The kind of input decides the kind of task.
func (o *compareOptions) open(ctx context.Context, s *cli.Streams, p *comparePlan) (*compareData, error) {
	if p.pictures {
		return o.openPictureTask(ctx, s, p)
	}
	source, stats, dropped, err := openSource(ctx, s, o.input, o.held, o.drop, p.shared)
	if err != nil {
		return nil, err
	}
	task := &compare.VectorTask{Vectors: source.Vectors, Stats: stats}
	if o.held != "" {
		task.Held = source.HeldVectors
	}
	return &compareData{task: task, input: source.Input(), close: source.Close,
		Data: compare.Data{Name: dataset.Name(o.input), Held: heldName(o.held), Kind: task.Kind().Items, Fingerprint: task.Fingerprint(), Rows: source.Len(), Dim: source.Vectors.Dim(),
			TrainRows: source.Train.Len(), HeldRows: source.Held.Len(), Dropped: dropped}}, nil
}

func (o *compareOptions) openPictureTask(ctx context.Context, s *cli.Streams, p *comparePlan) (*compareData, error) {
	train := trainOptions{settings: o.settings, input: o.input, held: o.held, workers: o.workers, metrics: o.metrics}
	source, fingerprint, err := openPictureSource(ctx, s, train, p.shared)
	if err != nil {
		return nil, err
	}
	task := &compare.PictureTask{Images: source.Images, Data: fingerprint}
	if o.held != "" {
		task.Held = source.HeldImages
	}
	if task.Perceptual, err = perceptual(s, train, &p.shared); err == nil {
		task.Networks, err = picture.FindNetworks(metricsDir(o.metrics))
	}
	if err != nil {
		source.Close()
		return nil, err
	}
	for _, sentence := range task.Networks.Skipped() {
		s.Remark("%s", sentence)
	}
	opened := &compareData{task: task, input: source.Input(), close: source.Close,
		Data: compare.Data{Name: dataset.Name(o.input), Held: heldName(o.held), Kind: task.Kind().Items, Fingerprint: task.Fingerprint(), Rows: source.Len(), Size: source.Images.Size(),
			TrainRows: source.Train.Len(), HeldRows: source.Held.Len()}}
	if task.Networks.LPIPS != nil {
		opened.metrics = append(opened.metrics, task.Networks.LPIPS.Name())
	}
	if task.Networks.Features != nil {
		opened.metrics = append(opened.metrics, task.Networks.Features.Name())
	}
	return opened, nil
}
