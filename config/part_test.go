package config

import (
	"strings"
	"testing"
)

func TestDecodePartSkipsOtherSections(t *testing.T) {
	part := struct {
		Model struct {
			Dim int `yaml:"dim" doc:"Dimension."`
		} `yaml:"model" doc:"Model."`
	}{}
	if err := DecodePart([]byte("seed: 1\nmodel: {dim: 3}\ntrain: {steps: 2}\n"), &part); err != nil || part.Model.Dim != 3 {
		t.Errorf("%+v, %v", part, err)
	}
	if err := DecodePart([]byte("model: {dmi: 3}"), &part); err == nil || !strings.Contains(err.Error(), `did you mean "model.dim"`) {
		t.Errorf("an unknown key inside a section gave %v", err)
	}
}
