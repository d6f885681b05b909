package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// streamRows is the number of rows that encode and decode hold at a time.
const streamRows = 4096

// encodeOptions is the command line of encode.
type encodeOptions struct {
	codingOptions
	output string
	json   bool
}

func newEncodeCommand(s *cli.Streams, run func(context.Context, *cli.Streams, encodeOptions) error) *cobra.Command {
	var o encodeOptions
	cmd := &cobra.Command{
		Use:   "encode DIR DATA -o CODES",
		Short: "Turn vectors or pictures into codes",
		Long: `Encodes every row of a file of vectors with a trained tokenizer. The extension of
the output decides its format: .npy (rows x levels), .parquet, .jsonl, or .gvq,
which packs the bits, detects damage and remembers the tokenizer. Files of any
size are streamed. A row's codes depend on nothing but the row.

Of pictures, every one becomes a row with the codes of its middle square, and their
names go into a .keys file beside the codes; a run that was killed goes on where it
was when the command is repeated. One picture of any size and an output .gvq make a
compact file, which decode restores.`,
		Example: `  gritvq encode tok vectors.npy -o codes.npy
  gritvq encode tok vectors.npy -o codes.gvq --beam 8
  gritvq encode tok more.parquet -o codes.jsonl --levels 2
  gritvq encode tok photos.tar -o codes.npy
  gritvq encode tok photo.jpg -o photo.gvq`,
		Args: cli.Arguments("DIR", "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.bundle, o.input = args[0], args[1]
			if err := cli.RequireOutput(o.output, "codes.npy"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.output, "file of codes: .npy, .parquet, .jsonl or .gvq")
	o.addFlags(cmd)
	cli.JSONFlag(cmd, &o.json, "the result as")
	return cmd
}

// openRuntime loads a bundle and prepares it on an engine.
func openRuntime(dir, backend string, workers int) (*bundle.Bundle, *tokenizer.Runtime, error) {
	if err := engine.UseWorkers(workers); err != nil {
		return nil, nil, err
	}
	b, err := bundle.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	engine, err := engine.Choose(backend)
	if err != nil {
		return nil, nil, err
	}
	r, err := b.Runtime(engine)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing %s: %w", dir, err)
	}
	return b, r, nil
}

// checkLevels validates --levels and --beam against a tokenizer.
func checkLevels(b *bundle.Bundle, levels, beam int) error {
	if have := b.Manifest.Layout.Levels; levels < 0 || levels > have {
		return usage.Errorf("--levels %d: the tokenizer has levels 1 to %d", levels, have)
	}
	if beam < 0 {
		return usage.Errorf("--beam %d must be at least 1, or 0 for the method's own", beam)
	}
	return nil
}

func runEncode(ctx context.Context, s *cli.Streams, o encodeOptions) error {
	if err := output.Check(o.input, o.output); err != nil {
		return err
	}
	b, r, err := o.load()
	if err != nil {
		return err
	}
	if b.Tokenizer.Spec.Model.Pictures() {
		if codes.IsPacked(o.output) && dataset.KindOf(o.input) == dataset.Picture {
			return encodePicture(ctx, s, o, b, r)
		}
		return encodePictures(ctx, s, o, b, r)
	}
	c, err := o.open(ctx, s, b, r)
	if err != nil {
		return err
	}
	v, options := c.vectors, c.options
	defer v.Close()
	w, err := codes.Create(o.output, codes.Content{
		Vocab: b.Tokenizer.Quantizer.Layout().VocabOf(o.levels), Rows: v.Len(), Fingerprint: b.Manifest.Fingerprint(),
	})
	if err != nil {
		return err
	}
	defer w.Abort()
	line := s.Line(v.Len(), "rows")
	defer line.Done()
	buffer := make([]float32, streamRows*v.Dim())
	for start := 0; start < v.Len(); start += streamRows {
		n := min(streamRows, v.Len()-start)
		block := buffer[:n*v.Dim()]
		if err := v.Rows(start, n, block); err != nil {
			return err
		}
		if err := checkFinite(v.Path(), block, v.Dim(), start, "clean the file or pass --drop-nonfinite"); err != nil {
			return err
		}
		encoded, err := r.Encode(ctx, block, n, options)
		if err != nil {
			return err
		}
		if err := w.WriteRows(encoded); err != nil {
			return err
		}
		line.Update(int64(start+n), "encoded")
	}
	if err := w.Commit(); err != nil {
		return err
	}
	line.Done()
	return showWritten(s, o.json, written{Output: o.output, Rows: v.Len(), Columns: r.Positions(options), Dropped: c.dropped}, "codes")
}

// written is what encode and decode report.
type written struct {
	Output  string `json:"output"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"` // codes or numbers a row
	Dropped int    `json:"dropped_rows"`
	Bytes   int64  `json:"bytes"`
}

func showWritten(s *cli.Streams, asJSON bool, w written, what string) error {
	if info, err := os.Stat(w.Output); err == nil {
		w.Bytes = info.Size()
	}
	if asJSON {
		return s.WriteJSON(w)
	}
	_, err := fmt.Fprintf(s.Out, "%s: %s rows of %d %s, %sB\n", w.Output, report.Count(w.Rows), w.Columns, what, report.Short(float64(w.Bytes), 3))
	return err
}
