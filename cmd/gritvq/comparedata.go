package main

import (
	"context"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/tokenize"
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
	in := tokenize.Input{Path: o.input, Held: o.held, Drop: o.drop, Workers: o.workers, Metrics: o.metrics, FixedPerceptual: o.settings.FixedPerceptual()}
	data, err := in.Open(ctx, &p.shared, s)
	if err != nil {
		return nil, err
	}
	opened := &compareData{input: data.Input(), close: data.Close, Data: compare.Data{Name: dataset.Name(o.input), Fingerprint: data.Fingerprint,
		Rows: data.Len(), TrainRows: data.Train.Len(), HeldRows: data.Held.Len(), Dropped: data.Dropped}}
	if o.held != "" {
		opened.Held = dataset.Name(o.held)
	}
	if p.pictures {
		err = o.openPictureTask(s, data, opened)
	} else {
		task := &compare.VectorTask{Vectors: data.Vectors, Stats: data.Stats}
		if o.held != "" {
			task.Held = data.HeldVectors
		}
		opened.task, opened.Dim = task, data.Vectors.Dim()
	}
	if err != nil {
		data.Close()
		return nil, err
	}
	opened.Kind = opened.task.Kind().Items
	return opened, nil
}

func (o *compareOptions) openPictureTask(s *cli.Streams, data *tokenize.Data, opened *compareData) (err error) {
	task := &compare.PictureTask{Images: data.Images, Data: data.Fingerprint, Perceptual: data.Perceptual}
	if o.held != "" {
		task.Held = data.HeldImages
	}
	if task.Networks, err = picture.FindNetworks(tokenize.MetricsDir(o.metrics)); err != nil {
		return err
	}
	for _, sentence := range task.Networks.Skipped() {
		s.Remark("%s", sentence)
	}
	opened.task, opened.Size = task, data.Images.Size()
	if task.Networks.LPIPS != nil {
		opened.metrics = append(opened.metrics, task.Networks.LPIPS.Name())
	}
	if task.Networks.Features != nil {
		opened.metrics = append(opened.metrics, task.Networks.Features.Name())
	}
	return nil
}
