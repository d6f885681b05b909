package prior

import (
	"encoding/json"
	"strings"
	"testing"
)

// The summary tells time and report, and scores where there are any.
func TestSummary(t *testing.T) {
	dir, bare := t.TempDir(), t.TempDir()
	p := trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	for _, want := range []string{"bits a token", "2 steps", dir + "/report.html", "neighbour model: "} {
		if text := p.Summary().String(); !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	for bits, want := range map[float64]bool{2: false, 3: true} {
		s := Scores{BitsPerToken: bits, Reference: ReferenceBits{Neighbour: 2.5}}
		if got := strings.Contains(s.ReferenceLine(), "undertrained"); got != want {
			t.Errorf("%g bits, 2.5 by the neighbour model: undertrained %v", bits, got)
		}
	}
	var stored map[string]any
	content, err := json.Marshal(p.Summary())
	if err == nil {
		err = json.Unmarshal(content, &stored)
	}
	if sum, _ := stored["model_sha256"].(string); err != nil || len(sum) != 64 || stored["kind"] != "prior" {
		t.Errorf("%v: %s", err, content)
	}
	plain := trained(t, TrainOptions{Dir: bare, Source: Source{Codes: writeRows(t, grammar(), 5)}, Settings: small(2, "validation=0")})
	if text := plain.Summary().String(); strings.Contains(text, "bits") || !strings.Contains(text, "2 steps") {
		t.Errorf("the summary without held-out rows is:\n%s", text)
	}
}
