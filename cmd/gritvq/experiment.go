package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// scoredRows bounds the training rows that are scored at the end of a run.
const scoredRows = 200_000

// experiment is one training run with its data.
type experiment struct {
	config      vqtrain.Config
	source      vqtrain.Source
	fingerprint string // of data, held-out file and imported codebook
	codes       []*weights.Array
	backend     compute.Backend
	dir         string
	resume      bool
	started     func(step int) // if not nil, told the step it starts from once all is checked
}

// outcome is a trained and scored tokenizer.
type outcome struct {
	runtime   *tokenizer.Runtime
	weights   weights.Set
	held      *tokenizer.Scores // nil without held-out rows
	train     *tokenizer.Scores
	pictures  bundle.PictureMetrics
	usage     *eval.Usage // of the training rows that were scored
	duration  time.Duration
	firstStep int // above 0 when the run was resumed
}

// openSource opens and summarises the data of a run. Close it when done.
func openSource(ctx context.Context, s *cli.Streams, input, held string, drop bool, c vqtrain.Config) (vqtrain.Source, vectors.Stats, int, error) {
	v, dropped, err := openVectors(ctx, s, input, drop)
	if err != nil {
		return vqtrain.Source{}, vectors.Stats{}, 0, err
	}
	stats, err := scan(ctx, s, v)
	if err != nil {
		v.Close()
		return vqtrain.Source{}, stats, 0, err
	}
	source := vqtrain.Source{Vectors: v, HeldVectors: v, Mean: stats.Mean, Variance: stats.Variance}
	if held == "" {
		source.Train, source.Held = dataset.Split(v.Len(), 1-c.Train.Split, c.Seed)
		return source, stats, dropped, nil
	}
	h, _, err := openVectors(ctx, s, held, drop)
	if err != nil {
		v.Close()
		return vqtrain.Source{}, stats, 0, err
	}
	source.Train, source.HeldVectors, source.Held = dataset.All(v.Len()), h, dataset.All(h.Len())
	heldStats, err := scan(ctx, s, h)
	if err == nil && h.Dim() != v.Dim() {
		err = fmt.Errorf("%s has %d dimensions, %s has %d; give vectors of the same kind", held, h.Dim(), input, v.Dim())
	}
	if err != nil {
		source.Close()
		return vqtrain.Source{}, stats, 0, err
	}
	stats.Fingerprint += " held " + heldStats.Fingerprint
	return source, stats, dropped, nil
}

// importCodebook reads --init-codebook for the experiment's tokenizer. Codes for
// vectors without a network are standardised as the vectors are.
func (e *experiment) importCodebook(ctx context.Context, s *cli.Streams, path string) error {
	v, _, err := openVectors(ctx, s, path, false)
	if err != nil {
		return err
	}
	defer v.Close()
	m, err := tokenizer.New(e.config.Spec, e.source.Vectors.Dim())
	if err != nil {
		return usage.Error{Err: err}
	}
	q := e.config.Quantizer
	books := q.Levels
	if q.Shared {
		books = 1
	}
	if q.Parts > 1 {
		return usage.Errorf("--init-codebook: a codebook can be imported for one part only, --parts is %d", q.Parts)
	}
	if v.Len() != q.Codes*books || v.Dim() != m.Dim() {
		return fmt.Errorf("%s has shape (%d, %d), the tokenizer starts from (%d, %d): %s of %d codes; change --codes, --levels or --dim",
			path, v.Len(), v.Dim(), q.Codes*books, m.Dim(), report.Counted(books, "level"), q.Codes)
	}
	values := make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), values); err != nil {
		return err
	}
	if err := checkFinite(path, values, v.Dim(), 0, "clean the file"); err != nil {
		return err
	}
	network := m.InitNetwork(e.config.Seed, e.source.Mean, e.source.Variance)
	hash := sha256.New()
	for l := range books {
		book := &weights.Array{Shape: []int{q.Codes, m.Dim()}, Data: values[l*q.Codes*m.Dim() : (l+1)*q.Codes*m.Dim()]}
		if m.Identity() {
			standardize(book, network["state/mean"].Data, network["state/scale"].Data, l == 0)
		}
		for _, x := range book.Data {
			bits := math.Float32bits(x)
			hash.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
		}
		e.codes = append(e.codes, book)
	}
	e.fingerprint += " codebook sha256:" + hex.EncodeToString(hash.Sum(nil))
	return nil
}

// standardize maps codes to the tokenizer's units. Later levels code
// differences, which have no mean to subtract.
func standardize(book *weights.Array, mean, scale []float32, first bool) {
	for i := range book.Data {
		j := i % len(mean)
		if first {
			book.Data[i] -= mean[j]
		}
		book.Data[i] /= scale[j]
	}
}

// run trains to the end and scores the result.
func (e *experiment) run(ctx context.Context, s *cli.Streams, watch vqtrain.Observer) (*outcome, error) {
	begun := time.Now()
	trainer, err := vqtrain.New(e.backend, e.config, e.source, e.fingerprint, e.dir, e.resume, watch)
	if err != nil {
		return nil, err
	}
	defer trainer.Close()
	m := trainer.Model()
	if e.codes != nil {
		if m.Quantizer, err = vq.StartFrom(m.Quantizer, e.codes); err != nil {
			return nil, err
		}
	}
	result := &outcome{firstStep: trainer.Step()}
	if e.started != nil {
		e.started(result.firstStep)
	}
	if result.weights, err = trainer.Run(ctx); err != nil {
		if errors.Is(err, vqtrain.ErrInterrupted) {
			return nil, fmt.Errorf("%w at step %d of %d; repeat the command with --resume to continue", err, trainer.Step(), e.config.Train.Steps)
		}
		return nil, err
	}
	result.duration = time.Since(begun)
	if err := e.score(ctx, s, trainer, result); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w while scoring; repeat the command with --resume to finish", vqtrain.ErrInterrupted)
		}
		return nil, err
	}
	return result, nil
}

// score evaluates the trained weights on held-out and training rows.
func (e *experiment) score(ctx context.Context, s *cli.Streams, trainer *vqtrain.Trainer, result *outcome) (err error) {
	if result.runtime, err = trainer.Runtime(result.weights); err != nil {
		return err
	}
	if e.source.Images != nil {
		return e.scorePictures(ctx, s, result)
	}
	rows := e.source.Train.Head(scoredRows)
	line := s.Line(rows.Len()+e.source.Held.Len(), "rows")
	defer line.Done()
	scores, usage, err := result.runtime.Evaluate(ctx, e.source.Vectors, rows, tokenizer.Options{}, func(done, _ int) {
		line.Update(int64(done), "scored")
	})
	if err != nil {
		return err
	}
	result.train, result.usage = &scores, usage
	if e.source.Held.Len() == 0 {
		return nil
	}
	held, _, err := result.runtime.Evaluate(ctx, e.source.HeldVectors, e.source.Held, tokenizer.Options{}, func(done, _ int) {
		line.Update(int64(rows.Len()+done), "scored")
	})
	result.held = &held
	return err
}
