package config

import (
	"slices"
	"testing"
)

func TestDifferencesNameKeys(t *testing.T) {
	type section struct {
		Rate  float64 `yaml:"rate" doc:"Rate."`
		Sizes []int   `yaml:"sizes" doc:"Sizes."`
	}
	type whole struct {
		Name    string  `yaml:"name" doc:"Name."`
		Section section `yaml:"section" doc:"Section."`
		Hidden  int     `yaml:"-"`
	}
	a := whole{Name: "a", Section: section{1, nil}, Hidden: 1}
	b := whole{Name: "a", Section: section{2, []int{}}, Hidden: 2}
	if keys, err := Differences(a, b); err != nil || !slices.Equal(keys, []string{"section.rate"}) {
		t.Errorf("got %v, %v", keys, err)
	}
	b.Name, b.Section.Sizes = "b", []int{3}
	if keys, err := Differences(a, &b); err != nil || !slices.Equal(keys, []string{"name", "section.rate", "section.sizes"}) {
		t.Errorf("got %v, %v", keys, err)
	}
}
