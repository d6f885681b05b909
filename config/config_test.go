package config

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type mode string

type layer struct {
	Width  int    `yaml:"width" doc:"units of the layer"`
	Active bool   `yaml:"active" doc:"whether it is trained"`
	Kind   string `yaml:"kind" enum:"dense|conv"`
}

type transformSection struct {
	Rank  int     `yaml:"rank" doc:"rank of the transform, at most the dimension"`
	Kind  mode    `yaml:"kind" doc:"how codes are mapped" enum:"identity|linear|attention"`
	Scale float64 `yaml:"scale"`
}

type sample struct {
	Name      string           `yaml:"name" doc:"what the run is called"`
	Seed      uint8            `yaml:"seed"`
	Steps     int64            `yaml:"steps"`
	Rate      float32          `yaml:"rate"`
	Resume    bool             `yaml:"resume"`
	Hidden    []int            `yaml:"hidden" doc:"widths of the layers"`
	Files     []string         `yaml:"files"`
	Modes     []mode           `yaml:"modes" enum:"fast|slow"`
	Grid      [][]float64      `yaml:"grid"`
	Transform transformSection `yaml:"transform" doc:"E to C'"`
	Layers    []layer          `yaml:"layers" doc:"one entry a layer"`
	Nested    struct {
		Deeper struct {
			Value string `yaml:"value"`
		} `yaml:"deeper"`
		Empty struct{} `yaml:"empty"`
	} `yaml:"nested"`
	Untagged int
	Hidden2  map[string]int `yaml:"-"`
	private  int
}

func defaults() sample {
	s := sample{Name: "base", Steps: 100, Rate: 0.1, Hidden: []int{64}, Transform: transformSection{Rank: 8, Kind: "linear", Scale: 1}}
	s.Nested.Deeper.Value = "kept"
	return s
}

// equal compares including the unexported field, which nothing may touch.
func equal(t *testing.T, want, got sample) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeOverlaysDefaults(t *testing.T) {
	got := defaults()
	got.private = 5
	shared := got.Hidden
	err := Decode([]byte(`
# a comment
name: 2024
steps: 1e6
rate: 3
hidden: [512, 256]
grid: [[1, 2.5], [], [.inf]]
modes: [slow]
transform:
  rank: 0x10
nested:
layers:
  - {width: 3, active: true, kind: dense}
  - width: -4
    kind: conv
untagged: 7
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.private = 5
	want.Name, want.Steps, want.Rate, want.Hidden = "2024", 1_000_000, 3, []int{512, 256}
	want.Grid = [][]float64{{1, 2.5}, nil, {math.Inf(1)}}
	want.Modes = []mode{"slow"}
	want.Transform.Rank = 16
	want.Layers = []layer{{Width: 3, Active: true, Kind: "dense"}, {Width: -4, Kind: "conv"}}
	want.Untagged = 7
	equal(t, want, got)
	if shared[0] != 64 {
		t.Error("the default's slice was overwritten")
	}
	for _, empty := range []string{"", "# only a comment\n", "---\n", "{}", "~"} {
		got := defaults()
		if err := Decode([]byte(empty), &got); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
		equal(t, defaults(), got)
	}
}

func TestDecodeErrors(t *testing.T) {
	for document, want := range map[string]string{
		"name: a\n\ntransform:\n  scale: 1\n  rnak: 4": `unknown key "transform.rnak" at line 5: did you mean "transform.rank"?`,
		"trasnform: {rank: 1}":                         `unknown key "trasnform" at line 1: did you mean "transform"?`,
		"rank: 4":                                      `unknown key "rank" at line 1: did you mean "transform.rank"?`,
		"transform.rank: 4":                            `unknown key "transform.rank" at line 1: nest it under its section`,
		"transform: {zzzzzz: 4}":                       `unknown key "transform.zzzzzz" at line 1: the keys here are rank, kind, scale`,
		"layers: [{width: 1}, {widht: 1}]":             `unknown key "layers[1].widht" at line 1: did you mean "layers[1].width"?`,
		"Private: 1":                                   `unknown key "Private" at line 1: the keys here are`,
		"hidden2: {}":                                  `unknown key "hidden2" at line 1: did you mean "hidden"?`,
		"transform:\n  rank: four":                     `key "transform.rank" at line 2: got the string "four", wanted a whole number`,
		"transform:\n  rank: \"4\"":                    `key "transform.rank" at line 2: got the string "4", wanted a whole number`,
		"steps: 1.5":                                   `key "steps" at line 1: got the number 1.5, wanted a whole number`,
		"steps: 99999999999999999999":                  `wanted a whole number`,
		"seed: 256":                                    `key "seed" at line 1: got the whole number 256, wanted a whole number from 0 to 255`,
		"seed: -1":                                     `wanted a whole number from 0 to 255`,
		"steps: 9223372036854775808":                   `wanted a whole number from -9223372036854775808 to 9223372036854775807`,
		"rate: 1e300":                                  `key "rate" at line 1: got the number 1e300, wanted a number that a float32 holds`,
		"rate: fast":                                   `key "rate" at line 1: got the string "fast", wanted a number`,
		"resume: yes":                                  `key "resume" at line 1: got the string "yes", wanted true or false`,
		"resume: 1":                                    `got the whole number 1, wanted true or false`,
		"name: [a]":                                    `key "name" at line 1: got a list, wanted a string`,
		"name:":                                        `key "name" at line 1: got nothing, wanted a string`,
		"hidden: 512":                                  `key "hidden" at line 1: got the whole number 512, wanted a list such as [a, b]`,
		"hidden: [1, {a: 2}]":                          `key "hidden[1]" at line 1: got a map of keys, wanted a whole number`,
		"transform: 3":                                 `key "transform" at line 1: got the whole number 3, wanted a map of keys`,
		"- a":                                          `the configuration at line 1 is a list, wanted a map of keys`,
		"name: a\nsteps: 1\nname: b":                   `key "name" at line 3 is given twice: it is already at line 1`,
		"transform: {kind: liner}": `key "transform.kind" at line 1: "liner" is not one of ` +
			`identity, linear, attention: did you mean "linear"`,
		"modes: [fast, quick]":  `key "modes[1]" at line 1: "quick" is not one of fast, slow`,
		"steps: &x 1\nseed: *x": `key "seed" at line 2: got the alias *x, which is not supported`,
		"steps: !!int \"3\"":    `key "steps" at line 1: got the explicit tag !!int, which is not supported`,
		"? [a]\n: 1":            `a key at line 1 is a list: keys are plain words`,
		"name: a\n---\nname: b": `a second document starts at line 2`,
		"name: [":               `not valid YAML: line 1: did not find`,
	} {
		got := defaults()
		err := Decode([]byte("resume: true\n"), &got)
		if err != nil {
			t.Fatal(err)
		}
		before := got
		err = Decode([]byte(document), &got)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", document, err, want)
		}
		equal(t, before, got)
	}
}

func TestFailedDecodeChangesNothing(t *testing.T) {
	got := defaults()
	if err := Decode([]byte("name: new\nhidden: [1]\ntransform: {rank: 1}\nsteps: x"), &got); err == nil {
		t.Fatal("accepted")
	}
	equal(t, defaults(), got)
}

func TestSet(t *testing.T) {
	for assignment, change := range map[string]func(*sample){
		"transform.rank=4":             func(s *sample) { s.Transform.Rank = 4 },
		" transform.rank = 4 ":         func(s *sample) { s.Transform.Rank = 4 },
		"hidden=[512, 256]":            func(s *sample) { s.Hidden = []int{512, 256} },
		"hidden=512,256":               func(s *sample) { s.Hidden = []int{512, 256} },
		"hidden=512":                   func(s *sample) { s.Hidden = []int{512} },
		"hidden=[]":                    func(s *sample) { s.Hidden = nil },
		"grid=[1,2],[3]":               nil,
		"grid=[[1,2],[3]]":             func(s *sample) { s.Grid = [][]float64{{1, 2}, {3}} },
		"files=*.png, [ab].jpg":        func(s *sample) { s.Files = []string{"*.png", "[ab].jpg"} },
		`files="a,b",c`:                func(s *sample) { s.Files = []string{"a,b", "c"} },
		"name=a: b # c":                func(s *sample) { s.Name = "a: b # c" },
		"name=x=y":                     func(s *sample) { s.Name = "x=y" },
		"name=":                        func(s *sample) { s.Name = "" },
		`name="a\tb"`:                  func(s *sample) { s.Name = "a\tb" },
		"name=null":                    func(s *sample) { s.Name = "null" },
		"resume=true":                  func(s *sample) { s.Resume = true },
		"rate=1e-3":                    func(s *sample) { s.Rate = 1e-3 },
		"transform={rank: 2}":          func(s *sample) { s.Transform.Rank = 2 },
		"layers=[{width: 2}]":          func(s *sample) { s.Layers = []layer{{Width: 2}} },
		"transform.kind=identity":      func(s *sample) { s.Transform.Kind = "identity" },
		"nested.deeper.value=changed ": func(s *sample) { s.Nested.Deeper.Value = "changed" },
	} {
		got, want := defaults(), defaults()
		err := Set(&got, assignment)
		if change == nil {
			if err == nil {
				t.Errorf("%q accepted", assignment)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", assignment, err)
			continue
		}
		change(&want)
		equal(t, want, got)
	}
}

func TestSetErrors(t *testing.T) {
	for assignment, want := range map[string]string{
		"transform.rnak=4":             `unknown key "transform.rnak": did you mean "transform.rank"?`,
		"tranform.rank=4":              `unknown key "tranform.rank": did you mean "transform.rank"?`,
		"rank=4":                       `unknown key "rank": did you mean "transform.rank"?`,
		"transform.rank=x":             `key "transform.rank": got the string "x", wanted a whole number`,
		"transform.rank=":              `key "transform.rank": got nothing after the = sign, wanted a whole number`,
		"transform.rank=#4":            `key "transform.rank": got nothing but a comment, wanted a whole number`,
		"transform.rank.x=1":           `key "transform.rank" holds a whole number: there is no key "transform.rank.x" below it`,
		"hidden.0=1":                   `key "hidden" is a list: set it as a whole, as in hidden=[a, b]`,
		"transform.kind=lnear":         `key "transform.kind": "lnear" is not one of identity, linear, attention: did you mean "linear"?`,
		"modes=fast,slwo":              `key "modes[1]": "slwo" is not one of fast, slow: did you mean "slow"?`,
		"transform.rank":               `write it as key=value`,
		"=4":                           `write it as key=value`,
		"hidden=[1":                    `key "hidden": not valid YAML`,
		"transform={rank: 1, rank: 2}": `key "transform.rank" is given twice`,
	} {
		got := defaults()
		err := Set(&got, assignment)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", assignment, err, want)
		}
		equal(t, defaults(), got)
	}
}

func TestUnsupportedStructsAreReported(t *testing.T) {
	var withMap struct {
		Bad map[string]int `yaml:"bad"`
	}
	var withPointer struct {
		Bad []*int `yaml:"bad"`
	}
	var repeated struct {
		A int `yaml:"x"`
		B int `yaml:"x"`
	}
	var enumOnInt struct {
		A int `yaml:"a" enum:"1|2"`
	}
	var inline struct {
		Width int   `yaml:"width"`
		Layer layer `yaml:",inline"`
	}
	var inlineNumber struct {
		Number int `yaml:",inline"`
	}
	for _, into := range []any{&withMap, &withPointer, &repeated, &enumOnInt, &inline, &inlineNumber, sample{}, nil, (*sample)(nil),
		new(int)} {
		if err := Decode([]byte("a: 1"), into); err == nil {
			t.Errorf("Decode into %T accepted", into)
		}
		if err := Set(into, "a=1"); err == nil {
			t.Errorf("Set into %T accepted", into)
		}
		if _, ok := into.(sample); ok {
			continue
		}
		if _, err := Render(into); err == nil {
			t.Errorf("Render of %T accepted", into)
		}
		if _, err := Hash(into); err == nil {
			t.Errorf("Hash of %T accepted", into)
		}
	}
}

// FuzzDecode checks that no document panics, and that accepted documents
// survive rendering and decoding.
func FuzzDecode(f *testing.F) {
	f.Add("name: a\ntransform: {rank: 4, kind: linear}\nhidden: [1, 2]")
	f.Add("grid: [[1, .nan], [-0.0]]\nlayers:\n- {width: 1, kind: conv}\n")
	f.Add("name: \"\\u2028\\x00\\U0001F600\"\nfiles: ['~', 'no', \"*\"]")
	f.Add("a: &a [*a]")
	f.Add("? {a: b}\n: - !!binary x")
	f.Add("transform:\n\trank: 4")
	f.Fuzz(func(t *testing.T, document string) {
		first := defaults()
		first.Layers = nil
		if Decode([]byte(document), &first) != nil {
			return
		}
		for i := range first.Layers {
			if first.Layers[i].Kind == "" {
				return // never given, and outside its enum
			}
		}
		text, err := Render(first)
		if err != nil {
			t.Fatal(err)
		}
		var second sample
		if err := Decode(text, &second); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		a, _ := Hash(first)
		b, _ := Hash(second)
		if a != b {
			t.Fatalf("changed by rendering:\n%s", text)
		}
	})
}
