package tokenize

import (
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

func TestAdvice(t *testing.T) {
	c := configure(t, false, "train.steps=1000", "train.batch=10")
	course := func(errors ...float64) (records []vqtrain.Record) {
		for i, e := range errors {
			held := &vqtrain.HeldRecord{RelativeError: e}
			records = append(records, vqtrain.Record{Step: (i + 1) * 1000 / len(errors), Phase: "train", Held: held}, vqtrain.Record{Phase: "train"})
		}
		return records
	}
	vectors := func(own, reference float64) bundle.Metrics {
		return bundle.Metrics{Held: &tokenizer.Scores{RelativeError: own}, Reference: &tokenizer.Reference{Name: "k-means", Score: reference}}
	}
	pictures := func(own, reference float64) bundle.Metrics {
		return bundle.Metrics{Pictures: &bundle.PictureMetrics{Held: &tokenizer.PictureScores{PSNR: own}},
			Reference: &tokenizer.Reference{Name: "k-means of patches", Score: reference}}
	}
	for name, test := range map[string]struct {
		records []vqtrain.Record
		steps   int
		rows    int
		metrics bundle.Metrics
		want    []string
	}{
		"good":         {course(0.5, 0.3, 0.21, 0.2), 1000, 5000, vectors(0.2, 0.25), nil},
		"kept":         {nil, 0, 50000, vectors(0.2, 0.2), nil},
		"flat":         {course(0.5, 0.3, 0.3), 600, 5000, vectors(0.2, 0.25), []string{"stopped at step 600 of 1,000"}},
		"falling":      {course(0.5, 0.4, 0.3, 0.2), 1000, 5000, vectors(0.2, 0.25), []string{"fell by 33%"}},
		"little data":  {course(0.5, 0.4, 0.3, 0.2), 1000, 50000, vectors(0.2, 0.25), []string{"10,000 of the 50,000 training items"}},
		"classical":    {course(0.3, 0.3, 0.3, 0.3), 1000, 5000, vectors(0.3, 0.25), []string{"0.25, this tokenizer 0.3; use --method rq"}},
		"tied":         {course(0.3, 0.3, 0.3, 0.3), 1000, 5000, vectors(0.3, 0.2995), nil},
		"both":         {course(0.5, 0.4, 0.35, 0.3), 1000, 5000, vectors(0.3, 0.25), []string{"undertrained", "does better"}},
		"pictures":     {nil, 1000, 5000, pictures(25, 25.5), []string{"k-means of patches has 25.5 dB, this tokenizer 25 dB"}},
		"good picture": {nil, 1000, 5000, pictures(26, 25.5), nil},
	} {
		got := advise(c, test.records, test.steps, bundle.Manifest{Data: bundle.Data{TrainRows: test.rows}, Metrics: test.metrics})
		if len(got) != len(test.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range test.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}
