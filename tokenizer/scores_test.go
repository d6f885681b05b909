package tokenizer

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// Data that does not vary has an infinite relative error, and earlier versions scored
// exact pictures with an infinite PSNR: both must be stored.
func TestScoresThatAreNotFiniteAreStored(t *testing.T) {
	use := CodeUse{Utilization: Levels{0.5, []float64{0.5}}, Perplexity: Levels{2, []float64{2}}}
	pictures := PictureScores{PSNR: math.Inf(1), SSIM: 1, CodeUse: use, Images: 3}
	content, err := json.Marshal(struct{ Held *PictureScores }{&pictures})
	const want = `{"Held":{"psnr":null,"ssim":1,"mse":0,"utilization":{"mean":0.5,"levels":[0.5]},"dead_rate":0,` +
		`"perplexity":{"mean":2,"levels":[2]},"tokens_per_code":0,"bits_per_pixel":0,"images":3,"damaged":0}}`
	if err != nil || string(content) != want {
		t.Errorf("got %s, %v, want %s", content, err, want)
	}
	var back struct{ Held *PictureScores }
	if err := json.Unmarshal(content, &back); err != nil {
		t.Fatal(err)
	}
	if s := back.Held; !math.IsNaN(s.PSNR) || s.SSIM != 1 || s.Utilization.Mean != 0.5 {
		t.Errorf("read %+v", s)
	}
	content, err = json.Marshal(Scores{MSE: 1, RelativeError: math.Inf(1), Cosine: math.NaN(), CodeUse: use, Vectors: 2})
	if err != nil || !strings.HasPrefix(string(content), `{"mse":1,"relative_error":null,"cosine":null,"utilization":{"mean":0.5`) {
		t.Errorf("got %s, %v", content, err)
	}
	var vectors Scores
	if err := json.Unmarshal(content, &vectors); err != nil || !math.IsNaN(vectors.RelativeError) || vectors.MSE != 1 || vectors.Vectors != 2 {
		t.Errorf("read %+v, %v", vectors, err)
	}
	if c := vectors.Summary().Criterion; !math.IsInf(c, 1) {
		t.Errorf("a relative error that is no number counts as %g", c)
	}
	if s := (&PictureScores{MSE: 0.25, PSNR: 6}).Summary(); s.Criterion != 0.25 || s.PSNR != 6 {
		t.Errorf("%+v", s)
	}
}
