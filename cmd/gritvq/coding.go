package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/tokenizer"
)

// codingOptions are those of commands that encode a file of vectors.
type codingOptions struct {
	bundle  string
	input   string
	levels  int
	beam    int
	workers int
	drop    bool
	backend string
}

func (o *codingOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.levels, "levels", 0, "use only the first levels (default all)")
	f.IntVar(&o.beam, "beam", 0, "encodings kept from level to level; more are slower and closer\n(default the method's own: 5 for rq, else 1)")
	cli.WorkersFlag(cmd, &o.workers)
	f.BoolVar(&o.drop, "drop-nonfinite", false, "leave out rows with NaN or Inf; later rows move up")
	cli.BackendFlag(cmd, &o.backend)
}

// coding is a tokenizer ready to encode an opened file. Close its vectors.
type coding struct {
	bundle  *bundle.Bundle
	runtime *tokenizer.Runtime
	vectors *vectors.Vectors
	dropped int // rows left out
	options tokenizer.Options
}

// load opens the tokenizer and checks the options and the kind of input against
// it.
func (o codingOptions) load() (*bundle.Bundle, *tokenizer.Runtime, error) {
	b, r, err := openRuntime(o.bundle, o.backend, o.workers)
	if err != nil {
		return nil, nil, err
	}
	if err := checkLevels(b, o.levels, o.beam); err != nil {
		return nil, nil, err
	}
	switch pictures := dataset.KindOf(o.input).IsPictures(); {
	case b.Tokenizer.Spec.Model.Pictures() && !pictures:
		if _, err := os.Stat(o.input); errors.Is(err, fs.ErrNotExist) && !dataset.IsSynthetic(o.input) {
			return nil, nil, fmt.Errorf("cannot read %s: %w; check the path", o.input, fs.ErrNotExist)
		}
		return nil, nil, fmt.Errorf("%s is a tokenizer of pictures, and %s is none: give a folder, an archive or a picture", o.bundle, o.input)
	case !b.Tokenizer.Spec.Model.Pictures() && pictures:
		return nil, nil, fmt.Errorf("%s is a tokenizer of vectors, and %s holds pictures", o.bundle, o.input)
	}
	return b, r, nil
}

// open opens the vectors and checks that they fit the tokenizer.
func (o codingOptions) open(ctx context.Context, s *cli.Streams, b *bundle.Bundle, r *tokenizer.Runtime) (*coding, error) {
	v, dropped, err := openVectors(ctx, s, o.input, o.drop)
	if err != nil {
		return nil, err
	}
	if err := checkDimension(v, b.Manifest.Input); err != nil {
		v.Close()
		return nil, err
	}
	return &coding{b, r, v, dropped, tokenizer.Options{Levels: o.levels, Beam: o.beam}}, nil
}
