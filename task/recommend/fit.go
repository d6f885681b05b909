package recommend

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Free says which settings neither a file nor an assignment gives: they may be fitted to the machine and to the data.
type Free struct {
	Network bool // size and learning rate
	Steps   bool
}

// Free returns what the settings leave open.
func (s Settings) Free() Free {
	given := func(key string) bool { return s.File != "" || assignsBelow(s.Set, key) }
	return Free{Network: !given("model.") && !given("train.optimizer."), Steps: !given("train.steps")}
}

// Processors that run networks step by step get a network and a budget that suit them.
const (
	coreSpeed    = 75e9  // operations a second and core of the embedded engine, in matrix products
	tokenSeconds = 15e-6 // of a core for the rest of a block, attention above all, forward and for gradients
	scoreSeconds = 60e-9 // of a core for the score of an item in a loss, with the prior's share in it
	atOnce       = 0.8   // share of the cores that work at a time
	fitSeconds   = 180   // of training, at most, unless steps are given
	fitEpochs    = 20    // passes over the examples are enough
	leastSteps   = 200
	evaluations  = 8 // during training
)

// resizable is a [Config] of a network that comes in several sizes.
type resizable interface {
	Config
	// resize sets a size, from 0, the default, to smaller ones; false if there is none.
	resize(size int) bool
	// seconds are those of one core for a step, over a catalogue of IDs, with histories of so many items.
	seconds(items int, vocab []int, history func(longest int) float64) float64
}

// fitTo chooses the largest network that sees enough examples in time, and the number of steps. It returns a sentence that
// says what was chosen and how long it will take, empty if nothing is free or the kind has one size.
func fitTo(d *Dataset, c Config, free Free, cores int) string {
	sized, ok := c.(resizable)
	if !ok || !free.Network && !free.Steps {
		return ""
	}
	t := sized.Training()
	seconds := func() float64 {
		return sized.seconds(d.Table.Len(), d.Table.Vocab(), d.meanHistory) / max(1, atOnce*float64(cores))
	}
	enough := t.Steps
	if free.Steps {
		enough = min(t.Steps, max(leastSteps, fitEpochs*d.Examples()/t.Batch))
	}
	if free.Network {
		for size := 0; sized.resize(size); size++ {
			if seconds()*float64(enough) <= fitSeconds {
				break
			}
		}
	}
	if free.Steps {
		t.Steps = max(leastSteps, min(enough, int(fitSeconds/seconds())))
		preset := c.Kind().Default().Training()
		if t.Evaluate == preset.Evaluate {
			t.Evaluate = max(1, min(t.Evaluate, t.Steps/evaluations))
		}
		if t.Schedule.Warmup == preset.Schedule.Warmup {
			t.Schedule.Warmup = max(1, min(t.Schedule.Warmup, t.Steps/10))
		}
	}
	took := time.Duration(seconds() * float64(t.Steps) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("fitted to %s and the data: %s, %s of %d examples, about %s; --config, --set and --steps give other sizes",
		report.Counted(cores, "core"), shape(sized), report.Counted(t.Steps, "step"), t.Batch, report.Duration(max(time.Second, took)))
}

// fitToMachine is [fitTo] this machine.
func fitToMachine(d *Dataset, c Config, free Free) string {
	return fitTo(d, c, free, runtime.GOMAXPROCS(0))
}

// shape describes the size of a network.
func shape(c resizable) string {
	switch c := c.(type) {
	case *Generative:
		return fmt.Sprintf("%d + %d layers of width %d", c.Model.Layers, c.Model.Layers, c.Model.Width)
	case interface{ towers() *Towers }:
		m := c.towers().Model
		return fmt.Sprintf("towers of %d and %d layers of width %d", m.Layers, m.ItemLayers, m.Width)
	}
	return strings.ToLower(c.Kind().Name)
}

// smaller holds the sizes below the default.
var smaller = []struct {
	layers, items, width int // items: of a tower of items
	rate                 float64
}{
	{2, 0, 128, 1e-3},
	{1, 0, 128, 1e-3},
	{1, 0, 64, 3e-3},
	{1, 0, 32, 3e-3},
}

// shrink sets the blocks of a smaller size.
func shrink(b *network.Blocks, layers, width int) {
	const heads = 4
	b.Layers, b.Width, b.FeedForward, b.Heads, b.HeadDim = layers, width, 4*width, heads, width/heads
}

func (t *Towers) towers() *Towers { return t }

func (t *Towers) resize(size int) bool {
	if size > len(smaller) {
		return false
	}
	if size > 0 {
		s := smaller[size-1]
		shrink(&t.Model.Blocks, s.layers, s.width)
		t.Model.ItemLayers, t.Train.Optimizer.Rate = s.items, s.rate
	}
	return true
}

func (t *Towers) seconds(items int, vocab []int, history func(longest int) float64) float64 {
	m, batch := t.Model, float64(t.Train.Batch)
	compared, places := t.Train.Batch, float64(m.Length)
	if items <= m.Whole {
		compared, places = items, history(m.Length) // batches of equally long histories
	}
	blocks := batch*(1+places)*float64(m.Layers) + float64(compared*len(vocab)*m.ItemLayers)
	scores := batch * float64(compared)
	return blocks*blockSeconds(m.Blocks) + scores*(scoreSeconds+passes*float64(m.Width)/coreSpeed)
}

func (c *Generative) resize(size int) bool {
	if size > len(smaller) {
		return false
	}
	if size > 0 {
		s := smaller[size-1]
		shrink(&c.Model.Blocks, s.layers, s.width)
		c.Train.Optimizer.Rate = s.rate
	}
	return true
}

func (c *Generative) seconds(_ int, vocab []int, history func(longest int) float64) float64 {
	m, codes := c.Model, 0
	for _, n := range vocab {
		codes += n
	}
	tokens := history(m.History)*float64(len(vocab)) + 1.5*float64(len(vocab)) // decoders look at the history too
	scores := float64(codes) * (scoreSeconds + passes*float64(m.Width)/coreSpeed)
	return float64(c.Train.Batch) * (tokens*float64(m.Layers)*blockSeconds(m.Blocks) + scores)
}

// passes are the operations of a weight and a row in a step: a multiplication and an addition, forward and for two gradients.
const passes = 6

// blockSeconds are those of a core for a token in a block.
func blockSeconds(b network.Blocks) float64 {
	return tokenSeconds + passes*float64(4*b.Width*b.Heads*b.HeadDim+2*b.Width*b.FeedForward)/coreSpeed
}

// meanHistory is the mean number of places that an example's history takes up, if at most so many are read.
// Searches have no history: their words take up all places.
func (d *Dataset) meanHistory(longest int) float64 {
	if d.purpose == Searching {
		return float64(longest)
	}
	rooms, sum := network.Rooms(longest), 0
	for u := range len(d.first) - 1 {
		for n := 1; n <= d.first[u+1]-d.first[u]; n++ {
			sum += network.RoomFor(rooms, n)
		}
	}
	return float64(sum) / float64(max(1, d.Examples()))
}
