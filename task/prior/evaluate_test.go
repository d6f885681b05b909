package prior

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/internal/usage"
)

// Codes of other tokenizers, of other sizes and out of range are refused, and so are missing or too many inputs.
func TestEvaluateSaysWhatIsWrong(t *testing.T) {
	dir, plain := t.TempDir(), t.TempDir()
	trainPictures(t, TrainOptions{Dir: dir, Settings: small(2)})
	trained(t, TrainOptions{Dir: plain, Source: Source{Codes: writeRows(t, grammar(), 5)}, Settings: small(2)})
	other := filepath.Join(t.TempDir(), "other.gvq") // codes that name their tokenizer
	w, err := codes.Create(other, codes.Content{Vocab: []int{8}, Rows: 1, Cells: 64, Fingerprint: [32]byte{1}})
	if err == nil {
		err = w.WriteRows(make([]uint32, 64))
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint32, 64)
	row[7] = 8
	for _, c := range []struct {
		want   string
		o      EvalOptions
		misuse bool
	}{
		{"was trained with another tokenizer than that of " + other, EvalOptions{Dir: dir, Codes: other}, false},
		{"have 10 cells, the prior", EvalOptions{Dir: dir, Codes: writeRows(t, grammar(), 5)}, false},
		{"row 0, cell 7, level 0: code 8 is outside the vocabulary of 8", EvalOptions{Dir: dir, Codes: writeRows(t, [][]uint32{row}, 9)}, false},
		{"was trained on codes alone", EvalOptions{Dir: plain, Pictures: scenes}, false},
		{"was trained without classes", EvalOptions{Dir: dir, Pictures: scenes, Labels: Folders}, true},
		{"one of the two", EvalOptions{Dir: dir}, true},
		{"one of the two", EvalOptions{Dir: dir, Pictures: scenes, Codes: other}, true},
		{"holds no pictures", EvalOptions{Dir: dir, Pictures: "synthetic:mixture"}, false},
	} {
		_, err := tryEvaluate(t, c.o)
		refused(t, err, c.want)
		if _, misused := errors.AsType[usage.Error](err); misused != c.misuse {
			t.Errorf("%v: is it misuse? %v", err, misused)
		}
	}
	if s, err := tryEvaluate(t, EvalOptions{Dir: plain, Codes: writeRows(t, slices.Clone(grammar()), 5)}); err != nil || s.Tokens != 250 {
		t.Errorf("%+v, %v", s, err)
	}
}
