package recommend

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task/catalogue"
)

// logOf is a dataset of so many examples over so many items, with nothing in it.
func logOf(t *testing.T, items, examples int) *Dataset {
	t.Helper()
	codes, keys := make([]uint32, 0, 2*items), make([]string, items)
	for i := range keys {
		codes, keys[i] = append(codes, uint32(i%8), uint32(i/8)), strconv.Itoa(i)
	}
	table, err := catalogue.Build(codes, []int{8, items}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDataset(Recommending, "log", table)
	d.first = []int{0, examples}
	return d
}

func TestNetworksFitTheMachine(t *testing.T) {
	settings := Settings{Purpose: Recommending, Model: "dual"}
	steps := 0
	for _, cores := range []int{1, 2, 16, 4096} {
		c, err := settings.Config()
		if err != nil {
			t.Fatal(err)
		}
		d := logOf(t, 40, 200_000)
		text := fitTo(d, c, settings.Free(), cores)
		own := c.(*Dual)
		spent := own.seconds(40, d.Table.Vocab(), d.meanHistory) * float64(own.Train.Steps) / max(1, atOnce*float64(cores))
		if spent > 1.01*fitSeconds || !strings.Contains(text, "about ") {
			t.Errorf("%d cores: %s would take %.0f s", cores, text, spent)
		}
		if own.Train.Steps < steps || own.Train.Evaluate > own.Train.Steps/evaluations || own.Train.Schedule.Warmup > own.Train.Steps/10 {
			t.Errorf("%d cores: %+v", cores, own.Train.Loop)
		}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		steps = own.Train.Steps
		if cores == 4096 && !reflect.DeepEqual(own.Model, DefaultDual().Model) {
			t.Errorf("the default network does not fit the largest machine: %s", text)
		}
	}
	few, err := settings.Config()
	if err != nil {
		t.Fatal(err)
	}
	fitTo(logOf(t, 40, 1000), few, settings.Free(), 2)
	if few.Training().Steps != leastSteps {
		t.Errorf("%d steps for few examples", few.Training().Steps)
	}
}

// Short histories and small catalogues make steps cheap, and a network's steps fewer where
// they are not.
func TestSecondsOfAStep(t *testing.T) {
	c, small, large := DefaultDual(), logOf(t, 40, 1000), logOf(t, 4000, 1000)
	c.resize(2)
	short := logOf(t, 40, 1000)
	short.first = []int{0}
	for i := range 500 {
		short.first = append(short.first, 2*i+2)
	}
	if got := short.meanHistory(20); got != 5 {
		t.Errorf("histories of 1 and 2 items take up %g places", got)
	}
	seconds := func(d *Dataset) float64 { return c.seconds(d.Table.Len(), d.Table.Vocab(), d.meanHistory) }
	if a, b := seconds(short), seconds(small); a > b/2 {
		t.Errorf("a step of short histories takes %g s, of long ones %g", a, b)
	}
	if a, b := seconds(small), seconds(large); b < a+512*3960*scoreSeconds {
		t.Errorf("a step takes %g s over 40 items, %g over 4,000", a, b)
	}
}

func TestGivenSizesStay(t *testing.T) {
	d := logOf(t, 40, 200_000)
	for name, c := range map[string]struct {
		sets []string
		free Free
	}{
		"nothing": {nil, Free{true, true}},
		"seed":    {[]string{"train.seed=2", "train.batch=64"}, Free{true, true}},
		"network": {[]string{"model.width=64"}, Free{false, true}},
		"rate":    {[]string{"train.optimizer.rate=0.1"}, Free{false, true}},
		"steps":   {[]string{"train.steps=77"}, Free{true, false}},
		"all":     {[]string{"train.steps=77", "model.layers=1"}, Free{}},
	} {
		for _, model := range []string{"dual", "generative"} {
			s := Settings{Purpose: Recommending, Model: model, Set: c.sets}
			if s.Free() != c.free {
				t.Errorf("%s: %+v", name, s.Free())
			}
			given, err := s.Config()
			if err != nil {
				t.Fatal(err)
			}
			fitted, err := s.Config()
			if err != nil {
				t.Fatal(err)
			}
			text := fitTo(d, fitted, s.Free(), 1)
			if !c.free.Steps && fitted.Training().Steps != 77 {
				t.Errorf("%s: %d steps", name, fitted.Training().Steps)
			}
			if c.free == (Free{}) && (text != "" || !reflect.DeepEqual(fitted, given)) {
				t.Errorf("%s: %s", name, text)
			}
			if s, ok := fitted.(*Dual); ok && !c.free.Network && !reflect.DeepEqual(s.Model, given.(*Dual).Model) {
				t.Errorf("%s: another network", name)
			}
		}
	}
	if (Settings{Purpose: Recommending, File: "x.yaml"}).Free() != (Free{}) {
		t.Error("a file gives all")
	}
	easy, err := (Settings{Purpose: Recommending, Model: "ease"}).Config()
	if err != nil || fitTo(d, easy, Free{true, true}, 1) != "" {
		t.Errorf("a table was fitted (%v)", err)
	}
}
