package compare

import (
	"sync"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// subject is the data that cells, also of different goroutines, are trained and scored on.
type subject struct {
	kind        *Kind
	source      vqtrain.Source
	resplit     bool             // every seed holds out other items of one set
	fingerprint string           // of the data and of the networks behind the scores
	dropped     int              // vectors with NaN or Inf
	networks    picture.Networks // of the scores of pictures
	metrics     []string         // names of these networks

	timing sync.Mutex // one cell is timed at a time
	search sync.Mutex
	truth  map[string][][]int // true neighbours of vectors, by split
}

func newSubject(data *tokenize.Data, in tokenize.Input, watch task.Watcher) (*subject, error) {
	s := &subject{kind: OfVectors, source: data.Source, resplit: in.Held == "", fingerprint: data.Fingerprint, dropped: data.Dropped}
	if !dataset.KindOf(in.Path).IsPictures() {
		return s, nil
	}
	s.kind = OfPictures
	var err error
	if s.networks, err = picture.FindNetworks(tokenize.MetricsDir(in.Metrics)); err != nil {
		return nil, err
	}
	for _, sentence := range s.networks.Skipped() {
		watch.Remark("%s", sentence)
	}
	if network := s.networks.LPIPS; network != nil {
		s.metrics, s.fingerprint = append(s.metrics, network.Name()), s.fingerprint+" lpips "+network.Name()
	}
	if network := s.networks.Features; network != nil {
		s.metrics, s.fingerprint = append(s.metrics, network.Name()), s.fingerprint+" features "+network.Name()
	}
	return s, nil
}

func (s *subject) of(cell Cell) vqtrain.Source {
	source := s.source
	if s.resplit {
		source.Train, source.Held = dataset.Split(source.Set.Len(), 1-cell.Config.Train.Split, cell.Config.Seed)
	}
	return source
}

func (s *subject) describe(in tokenize.Input) Data {
	d := Data{Name: dataset.Name(in.Path), Kind: s.kind.Items, Fingerprint: s.fingerprint, Rows: s.source.Set.Len(),
		TrainRows: s.source.Train.Len(), HeldRows: s.source.Held.Len(), Dropped: s.dropped}
	if in.Held != "" {
		d.Held = dataset.Name(in.Held)
	}
	if set, ok := s.source.Set.(*images.Set); ok {
		d.Size = set.Size()
	} else {
		d.Dim = s.source.Set.Input()
	}
	return d
}
