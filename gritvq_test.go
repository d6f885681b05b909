package gritvq_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq"
)

func TestPicturesThroughTheFrontDoor(t *testing.T) {
	data, err := gritvq.Open(t.Context(), "synthetic:scenes?images=24")
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	small := gritvq.Set("model.image.size=16", "model.image.widths=4,8", "model.dim=4", "quantizer.codes=8", "train.steps=4", "train.batch=4")
	dir := filepath.Join(t.TempDir(), "pics")
	tok, err := gritvq.Train(t.Context(), data, dir, small)
	if err != nil {
		t.Fatal(err)
	}
	defer tok.Close()
	codes, err := tok.Encode(t.Context(), data)
	if err != nil || len(codes) != 24*64 || tok.Codes() != 64 {
		t.Fatalf("%d codes of %d a picture, %v", len(codes), tok.Codes(), err)
	}
	items, err := tok.Decode(t.Context(), codes[:128])
	if err != nil || items.N != 2 || len(items.Pixels) != 2*16*16*3 {
		t.Errorf("%d pictures of %d pixel values, %v", items.N, len(items.Pixels), err)
	}
	scores, err := tok.Evaluate(t.Context(), data)
	if err != nil || !(scores.PSNR > 0) || scores.Scored != 24 {
		t.Errorf("scores %+v, %v", scores, err)
	}
	if held := tok.Held(); held == nil || !(held.PSNR > 0) {
		t.Errorf("held-out scores %+v", held)
	}
	again, err := gritvq.Train(t.Context(), data, dir, small, gritvq.Resume()) // finished: loaded
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if same, err := again.Encode(t.Context(), data); err != nil || !slices.Equal(same, codes) {
		t.Errorf("the loaded tokenizer gives other codes, %v", err)
	}
	further, err := gritvq.Train(t.Context(), data, filepath.Join(t.TempDir(), "further"), gritvq.From(dir), gritvq.Freeze("encoder", "codes"))
	if err != nil {
		t.Fatal(err)
	}
	defer further.Close()
	if same, err := further.Encode(t.Context(), data); err != nil || !slices.Equal(same, codes) {
		t.Errorf("a tokenizer with frozen encoder and codes gives other codes, %v", err)
	}
	vectors, err := gritvq.Vectors([]float32{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Encode(t.Context(), vectors); err == nil || !strings.Contains(err.Error(), "pictures") {
		t.Errorf("vectors for a tokenizer of pictures: %v", err)
	}
}

// Every mistake is one sentence.
func TestFrontDoorRefuses(t *testing.T) {
	data, err := gritvq.Open(t.Context(), "synthetic:mixture?rows=300")
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	dir := filepath.Join(t.TempDir(), "tok")
	plain := gritvq.Set("model.hidden=[]", "model.dim=0", "train.batch=32")
	tok, err := gritvq.Train(t.Context(), data, dir, plain, gritvq.Codes(8), gritvq.Levels(1), gritvq.Steps(3))
	if err != nil {
		t.Fatal(err)
	}
	defer tok.Close()
	train := func(options ...gritvq.Option) error {
		_, err := gritvq.Train(t.Context(), data, dir, options...)
		return err
	}
	_, short := tok.Decode(t.Context(), []uint32{99})
	_, missing := gritvq.Open(t.Context(), filepath.Join(dir, "none.npy"))
	_, unknown := gritvq.Load(filepath.Join(dir, "none"))
	narrow, err := gritvq.Vectors([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, dimension := tok.Encode(t.Context(), narrow)
	_, ragged := gritvq.Vectors([]float32{1, 2, 3}, 2)
	for name, c := range map[string]struct {
		err  error
		part string
	}{
		"finished":       {train(plain), "finished"},
		"unknown key":    {train(gritvq.Set("quantizer.cods=3")), "codes"},
		"unknown method": {train(gritvq.Method("gritt")), "grit"},
		"backend":        {train(plain, gritvq.Replace(), gritvq.Backend("tpu")), "backend"},
		"code":           {short, "99"},
		"missing file":   {missing, "none.npy"},
		"missing bundle": {unknown, "none"},
		"dimension":      {dimension, "dimensions"},
		"ragged":         {ragged, "whole row"},
		"taken":          {tok.Save(dir), "another directory"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.part) || strings.Contains(c.err.Error(), "\n") {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
