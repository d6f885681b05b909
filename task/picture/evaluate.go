// Package picture applies tokenizers of pictures. Evaluate takes every score in one pass over a set. An Encoder turns a
// picture of any size into one grid of codes and back, through windows of the size that the network was trained on. Files
// stores such grids, entropy-coded with a model from TrainEntropy. A Sample draws reconstructions. Score compares drawn pictures
// with real ones.
package picture

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/finitejson"
	"github.com/gritvq/gritvq/tokenizer"
)

// Options refine Evaluate.
type Options struct {
	tokenizer.Options
	Backend  compute.Backend       // for the networks; may be nil without any
	Entropy  *codes.Model          // of the codes, from TrainEntropy; may be nil
	Progress func(done, total int) // may be nil
}

// Evaluate encodes and decodes the centres of pictures and takes all scores in one pass; networks that are nil are
// skipped, damaged pictures counted. The usage by code is for histograms.
func Evaluate(
	ctx context.Context, r *tokenizer.Runtime, set dataset.Set, rows dataset.Selection, networks Networks, o Options,
) (Scores, *eval.Usage, error) {
	nan := math.NaN()
	s := Scores{LPIPS: nan, Frechet: nan, KID: nan, KIDStd: nan, CodedBitsPerPixel: nan}
	if err := r.Tokenizer().Expect(dataset.Pictures); err != nil {
		return s, nil, err
	}
	if rows.Len() == 0 {
		return s, nil, fmt.Errorf("there are no pictures to score in %s", set.Path())
	}
	seen, err := newPerception(o.Backend, networks, r.Tokenizer().Spec.Model.Image.Size, rows.Len())
	if err != nil {
		return s, nil, err
	}
	defer seen.close()
	files := Files{Tokenizer: r.Tokenizer(), Entropy: o.Entropy}
	bits := 0
	result, usage, err := r.Evaluate(ctx, set, rows, o.Options, func(c tokenizer.Coded) error {
		if err := seen.add(ctx, c); err != nil {
			return err
		}
		if o.Entropy != nil {
			coded, err := files.codedBits(ctx, c.Codes, c.Items.N)
			if err != nil {
				return err
			}
			bits += coded
		}
		if o.Progress != nil {
			o.Progress(c.Done, rows.Len())
		}
		return nil
	})
	if err != nil {
		return s, nil, err
	}
	s.PictureScores = *result.(*tokenizer.PictureScores)
	if s.Images == 0 {
		return s, nil, fmt.Errorf("none of the %d pictures of %s could be read", s.Damaged, set.Path())
	}
	if size := r.Tokenizer().Spec.Model.Image.Size; o.Entropy != nil {
		s.CodedBitsPerPixel = float64(bits) / float64(s.Images*size*size)
	}
	if err := seen.score(ctx, &s); err != nil {
		return s, nil, err
	}
	return s, usage, nil
}

// Scores are all scores of a tokenizer of pictures. Skipped ones are NaN, and null in JSON.
type Scores struct {
	tokenizer.PictureScores
	LPIPS          float64 // mean over pictures
	LPIPSNetwork   string  // "" where skipped
	Frechet        float64 // distance of the features of originals and reconstructions
	KID            float64 // kernel distance of the same features
	KIDStd         float64 // over subsets of the pictures
	FrechetNetwork string  // of the Frechet distance and KID; "" where skipped
	// CodedBitsPerPixel is the size of entropy-coded codes without the header of a file.
	CodedBitsPerPixel float64
	Notes             []string // how to read the scores, and why some are missing
}

// scoresJSON gives the order of the JSON object and null for absent networks.
type scoresJSON struct {
	PSNR           float64 `json:"psnr"`
	SSIM           float64 `json:"ssim"`
	MSE            float64 `json:"mse"`
	LPIPS          float64 `json:"lpips"`
	LPIPSNetwork   orNull  `json:"lpips_network"`
	Frechet        float64 `json:"frechet"`
	FrechetNetwork orNull  `json:"frechet_network"`
	KID            float64 `json:"kid"`
	KIDStd         float64 `json:"kid_std"`
	tokenizer.CodeUse
	BitsPerPixel      float64  `json:"bits_per_pixel"`
	Images            int      `json:"images"`
	Damaged           int      `json:"damaged"`
	CodedBitsPerPixel float64  `json:"coded_bits_per_pixel"`
	Notes             []string `json:"notes,omitempty"`
}

// orNull is a name that is null in JSON if it is empty.
type orNull string

func (n orNull) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(n))
}

// MarshalJSON writes skipped and infinite scores as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	return finitejson.Marshal(scoresJSON{s.PSNR, s.SSIM, s.MSE, s.LPIPS, orNull(s.LPIPSNetwork), s.Frechet, orNull(s.FrechetNetwork),
		s.KID, s.KIDStd, s.CodeUse, s.BitsPerPixel, s.Images, s.Damaged, s.CodedBitsPerPixel, s.Notes})
}

// UnmarshalJSON reads null as NaN.
func (s *Scores) UnmarshalJSON(content []byte) error {
	var j scoresJSON
	if err := finitejson.Unmarshal(content, &j); err != nil {
		return err
	}
	*s = Scores{
		PictureScores: tokenizer.PictureScores{PSNR: j.PSNR, SSIM: j.SSIM, MSE: j.MSE, CodeUse: j.CodeUse,
			BitsPerPixel: j.BitsPerPixel, Images: j.Images, Damaged: j.Damaged},
		LPIPS: j.LPIPS, LPIPSNetwork: string(j.LPIPSNetwork), Frechet: j.Frechet, FrechetNetwork: string(j.FrechetNetwork),
		KID: j.KID, KIDStd: j.KIDStd, CodedBitsPerPixel: j.CodedBitsPerPixel, Notes: j.Notes,
	}
	return nil
}
