package config

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	good.Size = 0
	if err := Check(&good, ""); err == nil || err.Error() != "size: 0 must be at least 1" {
		t.Errorf("a struct without a key: %v", err)
	}
	var wrong struct {
		Size int `yaml:"size" min:"one"`
	}
	if Check(wrong, "m") == nil || Check(3, "m") == nil {
		t.Error("a tag that is no number, or no struct, was accepted")
	}
}

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

// described takes a text and the values of a key from its methods.
type described struct {
	Method string `yaml:"method" doc:"overruled by the method"`
	Rank   int    `yaml:"rank" doc:"rank of the transform"`
}

func (described) Docs() map[string]string    { return map[string]string{"method": "a long text"} }
func (described) Enums() map[string][]string { return map[string][]string{"method": {"grit", "ema"}} }

func TestStructsDescribeTheirKeys(t *testing.T) {
	got, err := Render(described{Method: "ema", Rank: 2})
	want := "# a long text\n# one of: grit, ema\nmethod: ema\n# rank of the transform\nrank: 2\n"
	if err != nil || string(got) != want {
		t.Errorf("rendered %q (%v), want %q", got, err, want)
	}
	var c described
	if err := Set(&c, "method=grit"); err != nil || c.Method != "grit" {
		t.Errorf("set %q: %v", c.Method, err)
	}
	if err := Decode([]byte("method: gritt\n"), &c); err == nil || !strings.Contains(err.Error(),
		`not one of grit, ema: did you mean "grit"?`) {
		t.Errorf("a value outside the list gave %v", err)
	}
}

// Shared is inlined, and lost a key.
type Shared struct {
	Steps   int              `yaml:"steps" doc:"steps of the run"`
	Section transformSection `yaml:"section"`
}

func (Shared) ObsoleteKeys() []string { return []string{"decay"} }

type outside struct {
	Seed   int `yaml:"seed"`
	Shared `yaml:",inline"`
	Split  float64 `yaml:"split"`
}

func (outside) Docs() map[string]string { return map[string]string{"steps": "steps, or iterations"} }

type beside struct {
	Seed    int              `yaml:"seed"`
	Steps   int              `yaml:"steps" doc:"steps, or iterations"`
	Section transformSection `yaml:"section"`
	Split   float64          `yaml:"split"`
}

// Inlined keys are read, set, rendered and hashed as keys of the struct around,
// which may describe them in its own words.
func TestInlinedKeys(t *testing.T) {
	inside, plain := outside{Seed: 1}, beside{Seed: 1}
	document := []byte("steps: 7\nsection: {rank: 3, kind: linear}\nsplit: 0.5\n")
	for _, into := range []any{&inside, &plain} {
		if err := Decode(document, into); err != nil {
			t.Fatal(err)
		}
		if err := Set(into, "section.scale=2"); err != nil {
			t.Fatal(err)
		}
	}
	if want := (outside{1, Shared{7, transformSection{3, "linear", 2}}, 0.5}); inside != want {
		t.Errorf("decoded %+v, want %+v", inside, want)
	}
	a, errA := Render(inside)
	b, errB := Render(plain)
	if diff := cmp.Diff(string(b), string(a)); diff != "" || errA != nil || errB != nil {
		t.Errorf("rendered differently (%v, %v):\n%s", errA, errB, diff)
	}
	hashA, _ := Hash(inside)
	hashB, _ := Hash(plain)
	if hashA == "" || hashA != hashB {
		t.Errorf("hashes %s and %s", hashA, hashB)
	}
	if err := Decode([]byte("setps: 1"), &inside); err == nil || !strings.Contains(err.Error(), `did you mean "steps"`) {
		t.Errorf("a misspelled inlined key: %v", err)
	}
}

// A key that a struct lost is ignored in files, also where the struct is inlined,
// unless the struct around has it; it cannot be set.
func TestObsoleteKeys(t *testing.T) {
	var lost outside
	if err := Decode([]byte("decay: 0.1\nsteps: 2\n"), &lost); err != nil || lost.Steps != 2 {
		t.Errorf("%+v, %v", lost, err)
	}
	if err := Set(&lost, "decay=0.1"); err == nil {
		t.Error("a key that is no longer there was set")
	}
	var kept struct {
		Shared `yaml:",inline"`
		Decay  float64 `yaml:"decay"`
	}
	if err := Decode([]byte("decay: 0.1"), &kept); err != nil || kept.Decay != 0.1 {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestAssigns(t *testing.T) {
	sets := []string{"train.evaluate = 3", "model=x"}
	for key, want := range map[string]bool{"train.evaluate": true, "train": false, "model.width": true, "modelling": false} {
		if Assigns(sets, key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}
