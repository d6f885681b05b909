package compare

import (
	"context"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Task is what the cells of a comparison are trained and judged on:
// [VectorTask] or [PictureTask]. Its methods are called from several goroutines.
type Task interface {
	// Kind says what Score measures.
	Kind() *Kind
	// Fingerprint identifies the data and whatever else the scores depend on.
	Fingerprint() string
	// Source is the data of a cell, whose seed may decide what is held out.
	Source(cell Cell) vqtrain.Source
	// Score adds to r what it measures of a trained tokenizer.
	Score(ctx context.Context, backend compute.Backend, t Trained, r *Record) error
}

// Trained is a cell at the end of its training.
type Trained struct {
	Cell    Cell
	Runtime *tokenizer.Runtime
	Source  vqtrain.Source
}
