package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
