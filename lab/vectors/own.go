package vectors

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// measureOwn trains a tokenizer with its defaults on all training rows; rows for choices
// are taken from these.
func measureOwn(ctx context.Context, dir string, data split, r *Record) ([]float32, error) {
	settings := tokenize.Settings{Preset: "default", Final: func(c *vqtrain.Config) {
		c.Quantizer.Method, c.Seed, c.Train.Split = r.Method, r.Seed, 1
		c.Train.Flat = 0
		c.Quantizer.Codes = r.Codes
		c.Quantizer.Arrange(r.Levels, 1)
	}}
	c, err := settings.ConfigOf(r.Method)
	if err != nil {
		return nil, err
	}
	if r.Config, err = config.Hash(c); err != nil {
		return nil, err
	}
	r.Software = version.CreatedBy()
	out := filepath.Join(dir, "tokenizer")
	defer os.RemoveAll(out)
	begun := time.Now()
	_, err = tokenize.Train(ctx, tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: filepath.Join(dir, "train.npy")},
		Output: out, Backend: "go", Command: r.Command}, task.Silent{})
	if err != nil {
		return nil, err
	}
	r.Seconds = round(time.Since(begun).Seconds())
	opened, err := tokenize.Open(out, "go")
	if err != nil {
		return nil, err
	}
	defer opened.Runtime.Close()
	begun = time.Now()
	n := len(data.test) / data.dim
	codes, err := opened.Runtime.Encode(ctx, dataset.VectorBatch(data.test, n), tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	r.Encode = round(time.Since(begun).Seconds())
	decoded, err := opened.Runtime.Decode(ctx, codes, n, len(codes)/n)
	if err != nil {
		return nil, err
	}
	errors := make([]float32, n)
	for i := range errors {
		errors[i] = float32(index.SquaredDistance(data.test[i*data.dim:(i+1)*data.dim], decoded.Values[i*data.dim:(i+1)*data.dim]))
	}
	return errors, nil
}
