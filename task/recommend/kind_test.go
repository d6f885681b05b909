package recommend

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// popularKind recommends the most frequent targets of examples. It shows the
// parts of a kind: settings, a model and a registration.
var popularKind = &Kind{Name: "popular", Purpose: Recommending, Score: "share", Depth: 10,
	Default: func() Config { return &popular{Floor: 1} }}

type popular struct {
	Floor int `yaml:"floor" doc:"Least number of examples of an item."`
}

func (c *popular) Kind() *Kind             { return popularKind }
func (c *popular) Validate() error         { return nil }
func (c *popular) Training() *train.Config { return nil }
func (c *popular) Validation() Validation  { return Validation{Final: 5} }
func (c *popular) New(Size) (Model, error) { return c, nil }
func (c *popular) String() string          { return "popular" }

func (c *popular) Fit(_ context.Context, d *Dataset) (weights.Set, error) {
	shares := weights.New(d.Table.Len())
	for row, n := range d.targets {
		shares.Data[row] = float32(max(n, c.Floor)) / float32(d.Examples())
	}
	return weights.Set{"shares": shares}, nil
}

func (c *popular) Ranker(_ context.Context, _ compute.Backend, set weights.Set, _ *catalogue.Catalogue, _ network.Options) (Ranker, error) {
	var list listed
	for row, share := range set["shares"].Data {
		list = append(list, Scored{Item: int32(row), Score: float64(share)})
	}
	slices.SortStableFunc(list, func(a, b Scored) int { return cmp.Compare(b.Score, a.Score) })
	return list, nil
}

// withPopular registers the kind for one test.
func withPopular(t *testing.T) {
	before, names := kinds, Recommending.stored.Names
	Register(popularKind)
	t.Cleanup(func() { kinds, Recommending.stored.Names = before, names })
}

// A kind that is fitted at once is trained, stored and loaded as the others are,
// with a catalogue or without.
func TestFittedKind(t *testing.T) {
	withPopular(t)
	log, table := carousel(t, 20, 12)
	d := fromLog(t, log, table)
	c, err := Default(Recommending, "popular")
	if err != nil {
		t.Fatal(err)
	}
	m, set, err := trained(t, t.Context(), d, c, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, items := range map[string]*catalogue.Catalogue{"with a catalogue": {Table: table}, "without": nil} {
		dir, r := t.TempDir(), &Recommender{Config: c, Model: m, Weights: set, Catalogue: items}
		if err := r.Save(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Load(t.Context(), dir, Recommending)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(again.Weights["shares"].Data, set["shares"].Data) || (again.Catalogue == nil) != (items == nil) {
			t.Errorf("%s: %+v", name, again)
		}
	}
	settings := Settings{Purpose: Recommending, Model: "popular", Set: []string{"floor=3"}}
	if c, err := settings.Config(); err != nil || c.(*popular).Floor != 3 {
		t.Errorf("settings %+v, %v", c, err)
	}
	if settings.Set = []string{"train.steps=3"}; true {
		if _, err := settings.Config(); err == nil || !strings.Contains(err.Error(), "train") {
			t.Errorf("steps of a kind that takes none: %v", err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a kind was registered twice")
		}
	}()
	Register(popularKind)
}
