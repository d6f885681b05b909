package finitejson

import (
	"encoding/json"
	"math"
	"testing"
)

type inner struct {
	Mean   float64   `json:"mean"`
	Levels []float64 `json:"levels"`
}

type Shared struct {
	Use  inner   `json:"use"`
	Rate float64 `json:"rate"`
}

type scores struct {
	PSNR float64 `json:"psnr"`
	Shared
	Name   string   `json:"name"`
	Notes  []string `json:"notes,omitempty"`
	Hidden float64  `json:"-"`
	Count  int      `json:"count"`
}

func TestMarshal(t *testing.T) {
	finite := scores{PSNR: 1.5, Shared: Shared{Use: inner{0.25, []float64{1e-9, 2}}, Rate: 3}, Name: `a "b"`, Notes: []string{"x"}, Count: 4}
	want, err := json.Marshal(finite)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Marshal(finite); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	bad := scores{PSNR: math.Inf(1), Shared: Shared{Use: inner{math.NaN(), []float64{1, math.Inf(-1)}}}, Hidden: math.NaN()}
	const text = `{"psnr":null,"use":{"mean":null,"levels":[1,null]},"rate":0,"name":"","count":0}`
	if got, err := Marshal(bad); err != nil || string(got) != text {
		t.Errorf("got %s, %v", got, err)
	}
	var back scores
	if err := Unmarshal([]byte(text), &back); err != nil || !math.IsNaN(back.PSNR) || !math.IsNaN(back.Use.Mean) || back.Rate != 0 {
		t.Errorf("read %+v, %v", back, err)
	}
	if err := Unmarshal([]byte(`{"psnr":"high"}`), &back); err == nil {
		t.Error("read a text as a number")
	}
	if got, err := Marshal(scores{}); err != nil || !json.Valid(got) {
		t.Errorf("got %s, %v", got, err)
	}
}
