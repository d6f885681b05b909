package tokenizer

import (
	"context"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/finitejson"
)

// Result is the score of a tokenizer with hard codes: [*Scores] of vectors or [*PictureScores] of pictures.
type Result interface {
	Summary() Summary
	Use() CodeUse
}

// Summary is the part of a result that training follows and logs.
type Summary struct {
	RelativeError float64 `json:"relative_error,omitempty"` // of vectors
	MSE           float64 `json:"mse"`
	PSNR          float64 `json:"psnr,omitempty"` // of pictures
	SSIM          float64 `json:"ssim,omitempty"`
	Utilization   float64 `json:"utilization"`
	Scored        int     `json:"scored"` // items
	// Criterion is the score that training makes small.
	Criterion float64 `json:"-"`
}

// CodeUse says how often codes are used, over all slots (see [vq.Layout]).
type CodeUse struct {
	Utilization   Levels  `json:"utilization"`
	DeadRate      float64 `json:"dead_rate"`
	Perplexity    Levels  `json:"perplexity"`
	TokensPerCode float64 `json:"tokens_per_code"`
}

// Use implements [Result] for the structs that embed it.
func (u CodeUse) Use() CodeUse { return u }

// Levels is a score of every slot and its mean.
type Levels struct {
	Mean   float64   `json:"mean"`
	Levels []float64 `json:"levels"`
}

func newCodeUse(usage *eval.Usage) CodeUse {
	mean := usage.Mean()
	u := CodeUse{DeadRate: mean.DeadRate, TokensPerCode: mean.TokensPerCode}
	u.Utilization.Mean, u.Perplexity.Mean = mean.Utilization, mean.Perplexity
	for position := range usage.Vocab() {
		level := usage.Level(position)
		u.Utilization.Levels = append(u.Utilization.Levels, level.Utilization)
		u.Perplexity.Levels = append(u.Perplexity.Levels, level.Perplexity)
	}
	return u
}

// plainBits is the size of a token's codes without entropy coding, divided by its share of the data. Phases have as many
// codes each.
func plainBits(usage *eval.Usage, phases int, share float64) (bits float64) {
	for _, k := range usage.Vocab() {
		bits += math.Log2(float64(k)) / (share * float64(max(1, phases)))
	}
	return bits
}

// NewUsage counts codes by slot.
func (r *Runtime) NewUsage(o Options) (*eval.Usage, error) {
	return eval.NewUsage(r.tokenizer.Quantizer.Layout().SlotVocabOf(o.Levels))
}

// Count adds the codes [N*Tokens*positions] of items to a usage from NewUsage.
func (r *Runtime) Count(usage *eval.Usage, codes []uint32, positions int) error {
	layout := r.tokenizer.Quantizer.Layout()
	if layout.Phases == 0 {
		return usage.Add(codes, positions)
	}
	byPhase := make([][]uint32, layout.Phases)
	for row := range len(codes) / positions {
		p := layout.PhaseOf(row)
		byPhase[p] = append(byPhase[p], codes[row*positions:(row+1)*positions]...)
	}
	for p, own := range byPhase {
		if err := usage.AddFrom(p*positions, own, positions); err != nil {
			return err
		}
	}
	return nil
}

// Scores are the result on vectors. Rates are fractions. Errors that are not finite are null in JSON.
type Scores struct {
	MSE           float64 `json:"mse"`
	RelativeError float64 `json:"relative_error"`
	Cosine        float64 `json:"cosine"`
	CodeUse
	BitsPerVector float64 `json:"bits_per_vector"`
	Vectors       int     `json:"vectors"`
	// Curve is the score of the nearest points of the curve, which take more bits than codes; nil if it was not measured.
	Curve *CurveScores `json:"curve,omitempty"`
	// Search says how well the codes serve a search; nil if it was not measured.
	Search *Recall `json:"search,omitempty"`
}

// Recall compares the rows that are nearest to queries by their codes with those that
// are nearest by their vectors. Queries and rows are different rows of one set.
type Recall struct {
	K          int     `json:"k"`
	Queries    int     `json:"queries"`
	Rows       int     `json:"rows"`
	Recall     float64 `json:"recall"`     // share of the K nearest rows among the K nearest by codes
	First      float64 `json:"first"`      // share of queries whose nearest row is among the K nearest by codes
	Candidates int     `json:"candidates"` // nearest by codes that are ranked by their vectors:
	Reranked   float64 `json:"reranked"`   // Recall of that
}

// Summary implements [Result].
func (s *Scores) Summary() Summary {
	return Summary{RelativeError: s.RelativeError, MSE: s.MSE, Utilization: s.Utilization.Mean, Scored: s.Vectors,
		Criterion: orInfinity(s.RelativeError)}
}

// MarshalJSON writes numbers that are not finite as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	type plain Scores
	return finitejson.Marshal(plain(s))
}

// UnmarshalJSON reads null as NaN.
func (s *Scores) UnmarshalJSON(content []byte) error {
	type plain Scores
	return finitejson.Unmarshal(content, (*plain)(s))
}

// PictureScores are the result on pictures. Scores that are not finite are null in JSON.
type PictureScores struct {
	PSNR float64 `json:"psnr"` // mean over pictures, in dB; see [eval.PSNR]
	SSIM float64 `json:"ssim"`
	MSE  float64 `json:"mse"` // of pixel values from 0 to 1
	CodeUse
	BitsPerPixel float64 `json:"bits_per_pixel"` // of plain codes
	Images       int     `json:"images"`
	Damaged      int     `json:"damaged"` // pictures that could not be read
	// Curve is as in [Scores].
	Curve *CurveScores `json:"curve,omitempty"`
}

// CurveScores are scores of points between codes, see [vq.Curve].
type CurveScores struct {
	MSE           float64 `json:"mse"`
	RelativeError float64 `json:"relative_error,omitempty"` // of vectors
	PSNR          float64 `json:"psnr,omitempty"`           // of pictures
	SSIM          float64 `json:"ssim,omitempty"`
}

// MarshalJSON writes numbers that are not finite as null.
func (s CurveScores) MarshalJSON() ([]byte, error) {
	type plain CurveScores
	return finitejson.Marshal(plain(s))
}

// UnmarshalJSON reads null as NaN.
func (s *CurveScores) UnmarshalJSON(content []byte) error {
	type plain CurveScores
	return finitejson.Unmarshal(content, (*plain)(s))
}

// Summary implements [Result].
func (s *PictureScores) Summary() Summary {
	return Summary{MSE: s.MSE, PSNR: s.PSNR, SSIM: s.SSIM, Utilization: s.Utilization.Mean, Scored: s.Images, Criterion: orInfinity(s.MSE)}
}

// MarshalJSON writes numbers that are not finite as null.
func (s PictureScores) MarshalJSON() ([]byte, error) {
	type plain PictureScores
	return finitejson.Marshal(plain(s))
}

// UnmarshalJSON reads null as NaN.
func (s *PictureScores) UnmarshalJSON(content []byte) error {
	type plain PictureScores
	return finitejson.Unmarshal(content, (*plain)(s))
}

// orInfinity makes NaN the worst score.
func orInfinity(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

// Coded is a part of a dataset with its codes.
type Coded struct {
	Rows    []int         // of the dataset; damaged ones are missing
	Items   dataset.Batch // as many
	Codes   []uint32      // [N*Tokens*Positions]
	Decoded dataset.Batch // by Evaluate alone
	Done    int           // rows of the selection up to here, damaged ones included
}

// EncodeRows encodes rows of a dataset, batch by batch. visit must not keep slices; a batch of damaged rows is empty.
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

// Evaluate encodes, decodes and scores rows of a dataset. visit may be nil and must not keep slices.
func (r *Runtime) Evaluate(
	ctx context.Context, set dataset.Set, rows dataset.Selection, o Options, visit func(Coded) error,
) (Result, *eval.Usage, error) {
	usage, err := r.NewUsage(o)
	if err != nil {
		return nil, nil, err
	}
	if o.Curve && r.curve == nil {
		return nil, nil, fmt.Errorf("the codes of %s are not the corners of a curve; score them without it", r.tokenizer.Spec.Quantizer.Method)
	}
	scorer, curve, positions := r.tokenizer.modality.scorer(r.tokenizer), r.tokenizer.modality.scorer(r.tokenizer), r.Positions(o)
	err = r.EncodeRows(ctx, set, rows, o, func(b Coded) error {
		if b.Items.N > 0 {
			var err error
			if b.Decoded, err = r.Decode(ctx, b.Codes, b.Items.N, positions); err != nil {
				return err
			}
			if err := scorer.add(b); err != nil {
				return err
			}
			if err := r.Count(usage, b.Codes, positions); err != nil {
				return err
			}
			if o.Curve {
				if err := r.scoreCurve(ctx, b, o, curve); err != nil {
					return err
				}
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
	result := scorer.result(usage, rows.Len())
	if o.Curve {
		addCurve(result, curve.result(usage, rows.Len()).Summary())
	}
	return result, usage, nil
}

// scoreCurve scores the items of a batch when decoded from the curve.
func (r *Runtime) scoreCurve(ctx context.Context, b Coded, o Options, curve scorer) error {
	z, err := r.Latents(ctx, b.Items)
	if err == nil {
		points := r.curve.Project(z, r.tokenizer.Cells(b.Items.N).Len(), o.Levels, o.Workers)
		b.Decoded, err = r.decodeLatents(ctx, points, b.Items.N, r.Positions(o))
	}
	if err != nil {
		return err
	}
	return curve.add(b)
}

func addCurve(to Result, s Summary) {
	curve := &CurveScores{MSE: s.MSE, RelativeError: s.RelativeError, PSNR: s.PSNR, SSIM: s.SSIM}
	switch to := to.(type) {
	case *Scores:
		to.Curve = curve
	case *PictureScores:
		to.Curve = curve
	}
}
