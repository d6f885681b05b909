// Package gritvq trains vector-quantized tokenizers and uses them: it turns
// vectors and pictures into a few integers and back.
//
// [Open] or [Vectors] gives data, [Train] makes a [Tokenizer] from it and stores
// it in a directory, [Load] opens one again. The program of the same name and
// the packages below this one do more: task has its workflows, lab compares
// quantizers, vq registers new ones.
package gritvq

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
)

// Items are vectors [N, dim] in Values, or square pictures [N, size, size, 3]
// in Pixels.
type Items = dataset.Batch

// Scores say how close reconstructions are and how codes are used: see
// [tokenizer.Summary].
type Scores = tokenizer.Summary

// Reference is a classical method, measured in the same run on the same held-out
// items as a tokenizer.
type Reference = tokenizer.Reference

// Tokenizer is a trained tokenizer. It is safe for concurrent use.
type Tokenizer struct{ opened *tokenize.Opened }

// Train trains a tokenizer on data and stores it in dir, with its settings, log
// and report. A tenth of the items is held out to score the result. Without
// options it is GRIT-VQ with four levels of 256 codes for vectors, or one level
// of 16,384 for pictures of 256 px. Vectors start as residual k-means, and trials on
// the training items decide what training adds to it.
func Train(ctx context.Context, data *Data, dir string, options ...Option) (*Tokenizer, error) {
	s := newSettings(options)
	s.config.Pictures = data.pictures()
	from, err := s.start(data.path)
	if err != nil {
		return nil, err
	}
	c, err := s.config.Config()
	if err != nil {
		return nil, err
	}
	_, err = tokenize.Train(ctx, tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: data.path, Vectors: data.vectors},
		Output: dir, From: from, Backend: s.backend, Resume: s.resume, Force: s.replace, Command: "gritvq.Train", Reference: true}, s.watcher())
	if err != nil {
		return nil, err
	}
	return Load(dir, options...)
}

// Load opens the tokenizer in dir. Of the options only [Backend] matters.
func Load(dir string, options ...Option) (*Tokenizer, error) {
	opened, err := tokenize.Open(dir, newSettings(options).backend)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{opened}, nil
}

// Close releases the engine's memory.
func (t *Tokenizer) Close() { t.opened.Runtime.Close() }

// Save writes the tokenizer to another directory, which is made if needed.
func (t *Tokenizer) Save(dir string) error {
	claim, err := output.Lock(dir)
	if err != nil {
		return err
	}
	defer claim.Release()
	if output.Present(filepath.Join(dir, artifact.ManifestFile)) {
		return fmt.Errorf("%s holds something already; choose another directory", dir)
	}
	return bundle.Write(dir, t.opened.Bundle)
}

// Codes is the number of codes of an item.
func (t *Tokenizer) Codes() int {
	model := t.opened.Bundle.Tokenizer
	return model.Tokens() * model.Quantizer.Layout().Positions()
}

// Held returns the scores on the items that were held out in training, or nil
// if there were none.
func (t *Tokenizer) Held() *Scores {
	held, _ := t.opened.Bundle.Manifest.Metrics.Results()
	if held == nil {
		return nil
	}
	s := held.Summary()
	return &s
}

// Reference returns the classical method that was measured beside the tokenizer, or
// nil if none was.
func (t *Tokenizer) Reference() *Reference { return t.opened.Bundle.Manifest.Metrics.Reference }

// Encode returns the codes of all items, [Len, Codes]. An item's codes depend on
// the item alone. Pictures that cannot be read are left out.
func (t *Tokenizer) Encode(ctx context.Context, data *Data) ([]uint32, error) {
	set, err := data.open(ctx, t)
	if err != nil {
		return nil, err
	}
	var codes []uint32
	err = t.opened.Runtime.EncodeRows(ctx, set, dataset.All(set.Len()), tokenizer.Options{}, func(b tokenizer.Coded) error {
		codes = append(codes, b.Codes...)
		return nil
	})
	return codes, err
}

// Decode returns the items of codes [n, Codes].
func (t *Tokenizer) Decode(ctx context.Context, codes []uint32) (Items, error) {
	if n := t.Codes(); len(codes)%n != 0 {
		return Items{}, fmt.Errorf("%d codes are no whole number of items of %d", len(codes), n)
	}
	return t.opened.Runtime.Decode(ctx, codes, len(codes)/t.Codes(), t.opened.Bundle.Tokenizer.Quantizer.Layout().Positions())
}

// Evaluate encodes and decodes all items and scores the reconstructions.
func (t *Tokenizer) Evaluate(ctx context.Context, data *Data) (Scores, error) {
	set, err := data.open(ctx, t)
	if err != nil {
		return Scores{}, err
	}
	result, _, err := t.opened.Runtime.Evaluate(ctx, set, dataset.All(set.Len()), tokenizer.Options{}, nil)
	if err != nil {
		return Scores{}, err
	}
	return result.Summary(), nil
}
