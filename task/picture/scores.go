package picture

import (
	"github.com/gritvq/gritvq/internal/finitejson"
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

// scoresJSON gives the order of the JSON object and null for absent networks.
type scoresJSON struct {
	PSNR           float64 `json:"psnr"`
	SSIM           float64 `json:"ssim"`
	MSE            float64 `json:"mse"`
	LPIPS          float64 `json:"lpips"`
	LPIPSNetwork   *string `json:"lpips_network"`
	Frechet        float64 `json:"frechet"`
	FrechetNetwork *string `json:"frechet_network"`
	KID            float64 `json:"kid"`
	KIDStd         float64 `json:"kid_std"`
	tokenizer.CodeUse
	BitsPerPixel      float64  `json:"bits_per_pixel"`
	Images            int      `json:"images"`
	Damaged           int      `json:"damaged"`
	CodedBitsPerPixel float64  `json:"coded_bits_per_pixel"`
	Notes             []string `json:"notes,omitempty"`
}

// MarshalJSON writes skipped and infinite scores as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	j := scoresJSON{s.PSNR, s.SSIM, s.MSE, s.LPIPS, nil, s.Frechet, nil, s.KID, s.KIDStd,
		s.CodeUse, s.BitsPerPixel, s.Images, s.Damaged, s.CodedBitsPerPixel, s.Notes}
	if s.LPIPSNetwork != "" {
		j.LPIPSNetwork = &s.LPIPSNetwork
	}
	if s.FrechetNetwork != "" {
		j.FrechetNetwork = &s.FrechetNetwork
	}
	return finitejson.Marshal(j)
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
		LPIPS: j.LPIPS, Frechet: j.Frechet, KID: j.KID, KIDStd: j.KIDStd, CodedBitsPerPixel: j.CodedBitsPerPixel, Notes: j.Notes,
	}
	if j.LPIPSNetwork != nil {
		s.LPIPSNetwork = *j.LPIPSNetwork
	}
	if j.FrechetNetwork != nil {
		s.FrechetNetwork = *j.FrechetNetwork
	}
	return nil
}
