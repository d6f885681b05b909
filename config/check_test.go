package config

import (
	"math"
	"testing"
)

type limited struct {
	Kind  string  `yaml:"kind" enum:"a|b"`
	Size  int     `yaml:"size" min:"1"`
	Share float64 `yaml:"share" min:"0" below:"1"`
	Free  int     `yaml:"free"`
	Inner struct {
		Heads int `yaml:"heads" min:"2"`
	} `yaml:"inner"`
}

func TestCheck(t *testing.T) {
	good := limited{Kind: "a", Size: 1, Free: -3}
	good.Inner.Heads = 2
	for want, spoil := range map[string]func(*limited){
		"": func(*limited) {},
		`m.kind: unknown value "c", use one of a, b`:  func(l *limited) { l.Kind = "c" },
		"m.size: 0 must be at least 1":                func(l *limited) { l.Size = 0 },
		"m.share: 1 must be at least 0 and below 1":   func(l *limited) { l.Share = 1 },
		"m.share: NaN must be at least 0 and below 1": func(l *limited) { l.Share = math.NaN() },
		"m.inner.heads: 1 must be at least 2":         func(l *limited) { l.Inner.Heads = 1 },
	} {
		l := good
		spoil(&l)
		got := ""
		if err := Check(l, "m"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var wrong struct {
		Size int `yaml:"size" min:"one"`
	}
	if Check(wrong, "m") == nil || Check(3, "m") == nil {
		t.Error("a tag that is no number, or no struct, was accepted")
	}
}
