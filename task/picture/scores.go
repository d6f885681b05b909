package picture

import (
	"encoding/json"
	"math"

	"github.com/gritvq/gritvq/tokenizer"
)

// Scores are all scores of a tokenizer of pictures. Skipped ones are NaN, and
// null in JSON.
type Scores struct {
	tokenizer.PictureScores
	LPIPS          float64 // mean over pictures
	LPIPSNetwork   string  // "" where skipped
	Frechet        float64 // distance of the features of originals and reconstructions
	KID            float64 // kernel distance of the same features
	KIDStd         float64 // over subsets of the pictures
	FrechetNetwork string  // of the Frechet distance and KID; "" where skipped
	// CodedBitsPerPixel is the size of entropy-coded codes without the header of a
	// file, to compare with BitsPerPixel.
	CodedBitsPerPixel float64
	Notes             []string // how to read the scores, and why some are missing
}

// plainScores is PictureScores without methods it may have.
type plainScores tokenizer.PictureScores

// scoresJSON is Scores with null for what is not a number: JSON has neither NaN
// nor infinity, which identical pictures have as their PSNR.
type scoresJSON struct {
	PSNR           *float64 `json:"psnr"`
	SSIM           *float64 `json:"ssim"`
	MSE            *float64 `json:"mse"`
	LPIPS          *float64 `json:"lpips"`
	LPIPSNetwork   *string  `json:"lpips_network"`
	Frechet        *float64 `json:"frechet"`
	FrechetNetwork *string  `json:"frechet_network"`
	KID            *float64 `json:"kid"`
	KIDStd         *float64 `json:"kid_std"`
	plainScores
	CodedBitsPerPixel *float64 `json:"coded_bits_per_pixel"`
	Notes             []string `json:"notes,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s Scores) MarshalJSON() ([]byte, error) {
	number := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	name := func(network string) *string {
		if network == "" {
			return nil
		}
		return &network
	}
	return json.Marshal(scoresJSON{
		number(s.PSNR), number(s.SSIM), number(s.MSE), number(s.LPIPS), name(s.LPIPSNetwork),
		number(s.Frechet), name(s.FrechetNetwork), number(s.KID), number(s.KIDStd),
		plainScores(s.PictureScores), number(s.CodedBitsPerPixel), s.Notes,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote; null becomes NaN.
func (s *Scores) UnmarshalJSON(content []byte) error {
	var read scoresJSON
	if err := json.Unmarshal(content, &read); err != nil {
		return err
	}
	number := func(x *float64) float64 {
		if x == nil {
			return math.NaN()
		}
		return *x
	}
	name := func(network *string) string {
		if network == nil {
			return ""
		}
		return *network
	}
	*s = Scores{
		PictureScores: tokenizer.PictureScores(read.plainScores),
		LPIPS:         number(read.LPIPS), LPIPSNetwork: name(read.LPIPSNetwork),
		Frechet: number(read.Frechet), FrechetNetwork: name(read.FrechetNetwork),
		KID: number(read.KID), KIDStd: number(read.KIDStd),
		CodedBitsPerPixel: number(read.CodedBitsPerPixel), Notes: read.Notes,
	}
	s.PSNR, s.SSIM, s.MSE = number(read.PSNR), number(read.SSIM), number(read.MSE)
	return nil
}
