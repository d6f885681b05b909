package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset/vectors"
)

// decodeOptions is the command line of decode.
type decodeOptions struct {
	bundle  string
	input   string
	output  string
	workers int
	force   bool
	backend string
	json    bool
}

func newDecodeCommand(s *cli.Streams, run func(context.Context, *cli.Streams, decodeOptions) error) *cobra.Command {
	var o decodeOptions
	cmd := &cobra.Command{
		Use:   "decode DIR CODES -o OUTPUT",
		Short: "Turn codes back into vectors or pictures",
		Long: `Reconstructs vectors from a file of codes (.npy, .parquet, .jsonl or .gvq) with the
tokenizer that made them. Codes of fewer levels than the tokenizer has give a
coarser reconstruction. Files of any size are streamed. Pictures are written as
PNG, into a folder, a .tar, or one .png.`,
		Example: `  gritvq decode tok codes.npy -o recon.npy
  gritvq decode tok codes.gvq -o recon.fvecs
  gritvq decode tok codes.npy -o recon/ # pictures
  gritvq decode tok photo.gvq -o photo.png`,
		Args: cli.Arguments("DIR", "CODES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.bundle, o.input = args[0], args[1]
			if err := cli.RequireOutput(o.output, "recon.npy"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.output, "file of vectors (.npy, .fvecs, .parquet), or pictures (a folder, .tar, .png)")
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "decode a .gvq file of another tokenizer")
	cli.WorkersFlag(cmd, &o.workers)
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

func runDecode(ctx context.Context, s *cli.Streams, o decodeOptions) error {
	if info, err := os.Stat(o.output); err != nil || !info.IsDir() { // pictures go into folders
		if err := output.Check(o.input, o.output); err != nil {
			return err
		}
	}
	b, r, err := openRuntime(o.bundle, o.backend, o.workers)
	if err != nil {
		return err
	}
	if b.Tokenizer.Spec.Model.Pictures() {
		if isCodedPicture(o.input) {
			return decodePicture(ctx, s, o, b, r)
		}
		return decodePictures(ctx, s, o, b, r)
	}
	if info, err := os.Stat(o.output); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a directory; name a file", o.output)
	}
	switch strings.ToLower(filepath.Ext(o.output)) {
	case ".npy", ".fvecs", ".parquet":
	default:
		return usage.Errorf("%s has no extension for vectors: use .npy, .fvecs or .parquet", o.output)
	}
	codes, err := openCodes(o.input, b, o.force)
	if err != nil {
		return err
	}
	defer codes.Close()
	layout := b.Manifest.Layout
	if n := codes.Levels(); n%layout.Parts != 0 || n > layout.Parts*layout.Levels {
		return fmt.Errorf("%s has %d codes a row, the tokenizer makes %d (%s x %s); give codes that it made", o.input, n, layout.Parts*layout.Levels, report.Counted(layout.Parts, "part"), report.Counted(layout.Levels, "level"))
	}
	w, err := vectors.Create(o.output, b.Manifest.Input, codes.Len())
	if err != nil {
		return err
	}
	defer w.Abort()
	line := s.Line(codes.Len(), "rows")
	defer line.Done()
	block := make([]uint32, streamRows*codes.Levels())
	vocab := b.Tokenizer.Quantizer.Layout().VocabOf(codes.Levels() / layout.Parts)
	for start := 0; start < codes.Len(); start += streamRows {
		n := min(streamRows, codes.Len()-start)
		if err := codes.Rows(start, n, block[:n*codes.Levels()]); err != nil {
			return err
		}
		if err := checkCodes(o.input, block[:n*codes.Levels()], vocab, start); err != nil {
			return err
		}
		x, err := r.Decode(ctx, block[:n*codes.Levels()], n, codes.Levels())
		if err != nil {
			return fmt.Errorf("decoding rows %d to %d of %s: %w", start, start+n-1, o.input, err)
		}
		if err := w.WriteRows(x); err != nil {
			return err
		}
		line.Update(int64(start+n), "decoded")
	}
	if err := w.Commit(); err != nil {
		return err
	}
	line.Done()
	return showWritten(s, o.json, written{Output: o.output, Rows: codes.Len(), Columns: b.Manifest.Input}, "numbers")
}

// checkCodes reports the first row of a block [n,len(vocab)] with a code that
// the tokenizer does not have; start is the block's first row.
func checkCodes(path string, block []uint32, vocab []int, start int) error {
	for i, code := range block {
		if k := vocab[i%len(vocab)]; int64(code) >= int64(k) {
			return fmt.Errorf("row %d of %s holds code %d in column %d, where the tokenizer has 0 to %d; give codes that it made", start+i/len(vocab), path, code, i%len(vocab), k-1)
		}
	}
	return nil
}
