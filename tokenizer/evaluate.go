package tokenizer

import (
	"context"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
)

// Coded is a part of a dataset with its codes.
type Coded struct {
	Rows    []int         // of the dataset; damaged ones are missing
	Items   dataset.Batch // as many
	Codes   []uint32      // [N*Tokens*Positions]
	Decoded dataset.Batch // by Evaluate alone
	Done    int           // rows of the selection up to here, damaged ones included
}

// EncodeRows encodes rows of a dataset, batch by batch. visit must not keep the
// slices of a batch; the last batches may be empty where rows are damaged.
func (r *Runtime) EncodeRows(ctx context.Context, set dataset.Set, rows dataset.Selection, o Options, visit func(Coded) error) error {
	size := r.tokenizer.modality.batch()
	for start := 0; start < rows.Len(); start += size {
		b := Coded{Done: min(rows.Len(), start+size)}
		chosen := make([]int, 0, size)
		for i := start; i < b.Done; i++ {
			chosen = append(chosen, rows.At(i))
		}
		var err error
		if b.Items, b.Rows, err = set.Read(chosen); err != nil {
			return err
		}
		if b.Codes, err = r.Encode(ctx, b.Items, o); err != nil {
			return err
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// Evaluate encodes and decodes rows of a dataset and scores them. visit, if not
// nil, sees every batch, whose slices it must not keep. The usage by code is
// returned for histograms.
func (r *Runtime) Evaluate(
	ctx context.Context, set dataset.Set, rows dataset.Selection, o Options, visit func(Coded) error,
) (Result, *eval.Usage, error) {
	usage, err := eval.NewUsage(r.tokenizer.Quantizer.Layout().VocabOf(o.Levels))
	if err != nil {
		return nil, nil, err
	}
	scorer, positions := r.tokenizer.modality.scorer(r.tokenizer), r.Positions(o)
	err = r.EncodeRows(ctx, set, rows, o, func(b Coded) error {
		if b.Items.N > 0 {
			var err error
			if b.Decoded, err = r.Decode(ctx, b.Codes, b.Items.N, positions); err != nil {
				return err
			}
			if err := scorer.add(b); err != nil {
				return err
			}
			if err := usage.Add(b.Codes, positions); err != nil {
				return err
			}
		}
		if visit == nil {
			return nil
		}
		return visit(b)
	})
	if err != nil {
		return nil, nil, err
	}
	return scorer.result(usage, rows.Len()), usage, nil
}
