package weights

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/engine"
)

func TestGroupsFollowThePath(t *testing.T) {
	for path, want := range map[string]Group{
		"encoder/layer0/weights": Encoder, "decoder/layer0/weights": Network,
		"quantizer/level0/codes":       Codes,
		"quantizer/level2/mixer/a":     Mixer,
		"quantizer/level2/feature/w":   Feature,
		"quantizer/level1/condition/q": Condition,
		"quantizer/radius/scalar":      Radius,
		// The matrix of QINCo that codes are multiplied with, and codes that propose others.
		"quantizer/level1/condition/concat/codes": Condition,
		"quantizer/level1/condition/shortlist":    Shortlist,
		"quantizer/level0/state/source":           State,
		"state/codes":                             State,
		"codes/inner":                             Network,
	} {
		if got := GroupOf(path); got != want {
			t.Errorf("%s: group %s, want %s", path, got, want)
		}
	}
}

func TestSubAndMergeShareArrays(t *testing.T) {
	s := Set{"a/x": Full(1, 2), "b": New(1)}
	sub := s.Sub("a")
	sub["x"].Data[0] = 7
	if s["a/x"].Data[0] != 7 {
		t.Error("Sub copied the array")
	}
	merged := Set{}.Merge("p/q", sub)
	if got := merged.Paths(); !slices.Equal(got, []string{"p/q/x"}) {
		t.Errorf("paths %v", got)
	}
	if c := s.Clone(); &c["b"].Data[0] == &s["b"].Data[0] {
		t.Error("Clone shares memory")
	}
}

func TestCheckNamesTheDifference(t *testing.T) {
	want := Set{"a": New(2, 3)}
	for message, loaded := range map[string]Set{
		`variable "a" is missing`:                             {},
		`variable "a" has shape [2 2], the model needs [2 3]`: {"a": New(2, 2)},
		`variable "b" does not belong to this model`:          {"a": New(2, 3), "b": New(1)},
	} {
		if err := want.Check(loaded); err == nil || err.Error() != message {
			t.Errorf("got %v, want %s", err, message)
		}
	}
	if err := want.Check(Set{"a": New(2, 3)}); err != nil {
		t.Error(err)
	}
}

func TestRandDependsOnSeedAndPurposeOnly(t *testing.T) {
	a, b := Normal(Rand(1, "x"), 1, 4), Normal(Rand(1, "x"), 1, 4)
	if !slices.Equal(a.Data, b.Data) {
		t.Error("same seed and purpose differ")
	}
	if slices.Equal(a.Data, Normal(Rand(1, "y"), 1, 4).Data) || slices.Equal(a.Data, Normal(Rand(2, "x"), 1, 4).Data) {
		t.Error("seed or purpose ignored")
	}
}

// A step through the store: values go in, a graph changes them, they come back.
func TestStoreRoundTrip(t *testing.T) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	if err := Install(store, Set{"net/w": Full(2, 2, 2), "net/state/n": Full(5, 3)}); err != nil {
		t.Fatal(err)
	}
	exec, err := model.NewExec(backend, store, func(s *model.Scope, x *graph.Node) *graph.Node {
		v := FromStore(store, x.Graph()).In("net")
		w := v.Get("w")
		if v.Get("w") != w {
			t.Error("two nodes for one variable")
		}
		if v.Find("missing") != nil {
			t.Error("found a variable that does not exist")
		}
		Assign(store, map[string]*graph.Node{v.Path("w"): graph.Add(w, x)})
		return graph.ReduceAllSum(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	exec.MustCall(float32(1))
	exec.MustCall(float32(1))
	got, err := Read(store, "net")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got["w"].Data, []float32{4, 4, 4, 4}) || !slices.Equal(got["state/n"].Data, []float32{5, 5, 5}) {
		t.Errorf("got %v and %v", got["w"].Data, got["state/n"].Data)
	}
}
