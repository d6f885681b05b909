package config

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenderGolden(t *testing.T) {
	type section struct {
		Rank int     `yaml:"rank" doc:"rank of the transform"`
		Rate float64 `yaml:"rate"`
	}
	type config struct {
		Name     string   `yaml:"name" doc:"a text that does not fit into the one hundred columns of a comment, which therefore goes on below it"`
		Kind     mode     `yaml:"kind" doc:"how codes are mapped" enum:"identity|linear"`
		Hidden   []int    `yaml:"hidden"`
		Section  section  `yaml:"section" doc:"a section"`
		Layers   []layer  `yaml:"layers"`
		Files    []string `yaml:"files"`
		Switched bool     `yaml:"on"`
	}
	got, err := Render(&config{
		Name: "true", Kind: "linear", Hidden: []int{512, 256}, Section: section{Rank: 3, Rate: 1e-5},
		Layers: []layer{{Width: 1, Kind: "dense"}, {Width: 2, Active: true, Kind: "conv"}},
		Files:  []string{"a/b.npy", "c d", "", "no", "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# a text that does not fit into the one hundred columns of a comment, which therefore goes on below
# it
name: "true"
# how codes are mapped
# one of: identity, linear
kind: linear
hidden: [512, 256]

# a section
section:
  # rank of the transform
  rank: 3
  rate: 1.0e-05

layers:
  # units of the layer
  - width: 1
    # whether it is trained
    active: false
    # one of: dense, conv
    kind: dense
  - width: 2
    active: true
    kind: conv
files: [a/b.npy, "c d", "", "no", "1"]
"on": false
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestRenderDecodesBack(t *testing.T) {
	full := sample{
		Name: "\u2028 \x00\x7f\u0085\ufeff\u00a0 \U0001F600\U000E0001 'quoted' \"double\" \\ # : {[",
		Seed: 255, Steps: math.MinInt64, Rate: math.MaxFloat32, Resume: true, Hidden: []int{math.MinInt, 0, math.MaxInt},
		Files: []string{"", " ", "~", "null", "yes", "1", "1e5", "0x1", ".inf", "2024-01-01", "=", "<<", "*.png", "a: b", "-", "a\nb\n",
			"C:\\x"},
		Modes:     []mode{"fast", "slow"},
		Grid:      [][]float64{nil, {math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 1.0 / 3, 1e6, 1e21, -1}},
		Transform: transformSection{Rank: -1, Kind: "attention", Scale: math.Copysign(0, -1)},
		Layers:    []layer{{Width: 1, Active: true, Kind: "dense"}, {Kind: "conv"}},
	}
	full.Nested.Deeper.Value = "x"
	for _, want := range []sample{full, {Transform: transformSection{Kind: "linear"}}, defaults()} {
		text, err := Render(want)
		if err != nil {
			t.Fatal(err)
		}
		var got sample
		if err := Decode(text, &got); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		equal(t, want, got)
		if math.Signbit(want.Transform.Scale) != math.Signbit(got.Transform.Scale) {
			t.Error("the sign of zero is lost")
		}
		// Rendered values win over other defaults, too.
		other := full
		other.private = 0
		if err := Decode(text, &other); err != nil {
			t.Fatal(err)
		}
		equal(t, want, other)
	}
}

func TestRenderRefusesWhatDecodeWould(t *testing.T) {
	for want, change := range map[string]func(*sample){
		`key "transform.kind": "x" is not one of`: func(s *sample) { s.Transform.Kind = "x" },
		`key "layers[0].kind": "" is not one of`:  func(s *sample) { s.Layers = []layer{{}} },
		`key "modes[0]": "x" is not one of`:       func(s *sample) { s.Modes = []mode{"x"} },
		`key "name": a string is not UTF-8`:       func(s *sample) { s.Name = "\xff" },
	} {
		s := defaults()
		change(&s)
		if _, err := Render(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestHash(t *testing.T) {
	type ordered struct {
		A int     `yaml:"a" doc:"one"`
		B string  `yaml:"b"`
		C []int   `yaml:"c"`
		D float32 `yaml:"d"`
	}
	type shuffled struct {
		D float32 `yaml:"d"`
		C []int   `yaml:"c"`
		B string  `yaml:"b" doc:"other words"`
		A int     `yaml:"a"`
	}
	hash := func(v any) string {
		t.Helper()
		h, err := Hash(v)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(ordered{A: 1, B: "x", C: []int{1, 2}, D: 0.1})
	// printf '{"a":1,"b":"x","c":[1,2,],"d":0.1,}' | sha256sum
	if want := "2f8ed044f4ae195a369397178054ed8e42a2c16f3ad2d7e1730246cc17c05e54"; base != want {
		t.Errorf("got %s, want %s", base, want)
	}
	if got := hash(&shuffled{A: 1, B: "x", C: []int{1, 2}, D: 0.1}); got != base {
		t.Error("depends on the order of fields, or on documentation")
	}
	if hash(ordered{C: []int{}}) != hash(ordered{}) {
		t.Error("an empty list differs from none")
	}
	for _, other := range []ordered{
		{A: 2, B: "x", C: []int{1, 2}, D: 0.1}, {A: 1, B: "y", C: []int{1, 2}, D: 0.1},
		{A: 1, B: "x", C: []int{12}, D: 0.1}, {A: 1, B: "x", C: []int{1, 2}, D: 0.2},
	} {
		if hash(other) == base {
			t.Errorf("%+v hashes like another", other)
		}
	}
	// A list's end is part of the text: moving an element between lists shows.
	type lists struct{ A, B []string }
	if hash(lists{A: []string{"x", "y"}}) == hash(lists{A: []string{"x"}, B: []string{"y"}}) {
		t.Error("lists run into each other")
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"rank", "range", "learning_rate", "lr", "K"}
	for word, want := range map[string]string{
		"rnak": "rank", "rnk": "rank", "raank": "rank", "Rank": "rank", "rang": "rank", "renge": "range",
		"learningrate": "learning_rate", "learn_rate": "learning_rate", "l": "", "rl": "lr", "x": "", "banana": "", "": "", "k": "K",
		"rkan": "",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		// kitten/sitting: the usual Levenshtein example. ca/abc: 3 for optimal
		// string alignment, where unrestricted Damerau-Levenshtein has 2.
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"ab", "ba", 1}, {"", "abc", 3}, {"abc", "", 3}, {"äb", "bä", 1}, {"same", "same", 0},
	} {
		if got := editDistance([]rune(test.a), []rune(test.b)); got != test.want {
			t.Errorf("%s to %s: %d edits, want %d", test.a, test.b, got, test.want)
		}
	}
}
