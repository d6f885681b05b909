package tokenizer

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadSpec(t *testing.T) {
	s, err := ReadSpec([]byte("seed: 9\nmodel: {dim: 7}\nquantizer: {method: ema, codes: 5}\ntrain: {steps: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := DefaultSpec("ema")
	want.Model.Dim, want.Quantizer.Codes = 7, 5
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v", s)
	}
	if s, err := ReadSpec([]byte(`{"quantizer": {"method": "rq"}}`)); err != nil || s.Model.Dim != 0 || s.Model.Hidden != nil {
		t.Errorf("a classical method has a network: %+v, %v", s.Model, err)
	}
	for document, want := range map[string]string{
		"quantizer: {method: none}":             "unknown method",
		"quantizer: [":                          "cannot be read",
		"quantizer: {method: ema, codse: 5}":    `did you mean "quantizer.codes"`,
		"quantizer: {method: ema}\nmodel: text": "model",
	} {
		if _, err := ReadSpec([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", document, err, want)
		}
	}
}
