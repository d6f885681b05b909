package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

const sceneSet = "synthetic:scenes?images=60&size=16"

// contested is a quick configuration of pictures with a discriminator.
func contested(t testing.TB, method string) Config {
	c := small(t, method)
	c.Train.Adversarial.Weight = 0.5
	return c
}

// steps trains up to a step.
func steps(t testing.TB, trainer *Trainer, to int) {
	t.Helper()
	for trainer.Step() < to {
		if err := step(t, trainer, trainer.Step()); err != nil {
			t.Fatal(err)
		}
	}
}

// One step changes every variable of the tokenizer by the gradient of L_rec + λ w L_G + the quantizer's terms, taken
// through the discriminator as it stands, and every variable of the discriminator by the gradient of its own loss: two
// separate objectives, written as in the papers.
func TestAdversarialStepIsTheSumOfItsLosses(t *testing.T) {
	const rate, multiple, begin = 0.5, 3.0, 2
	c := contested(t, "ste") // it draws no numbers
	c.Train.Steps, c.Train.Adversarial.Start, c.Train.Adversarial.Rate = 10, begin/10.0, multiple
	c.Train.Optimizer = Optimizer{Optimizer: optim.Optimizer{Name: "sgd", Rate: rate}}
	c.Train.Schedule, c.Train.ClipNorm, c.Train.Average = optim.Schedule{Kind: "constant"}, 0, 0
	c.Train.Rates.Codes, c.Quantizer.Resets.Every = 1, 0
	trainer := start(t, c, scenes(t, sceneSet, nil), t.TempDir(), false, Observer{})
	steps(t, trainer, begin)
	if err := trainer.beginContest(begin); err != nil {
		t.Fatal(err)
	}
	before := read(t, trainer)
	var ours, theirs []string
	for _, p := range before.Paths() {
		if role := trainer.role(p); strings.HasPrefix(p, "optimizer/") {
		} else if role == train.Trained {
			ours = append(ours, p)
		} else if role == train.Assisting {
			theirs = append(theirs, p)
		}
	}
	batch := inputs(t, trainer, begin)
	slopes, err := trainer.look("reference", func(v weights.Vars, in []*graph.Node) []*graph.Node {
		pass := trainer.model.Pass(&vq.Context{Vars: v, Training: true}, in[0])
		judge := func(x *graph.Node) *graph.Node { return trainer.discriminator().Build(v.In(discriminatorPrefix), x) }
		last := v.Get(trainer.model.LastLayer())
		length := func(loss *graph.Node) *graph.Node {
			return graph.Sqrt(graph.ReduceAllSum(graph.Square(graph.Gradient(loss, last)[0])))
		}
		generator := graph.Neg(graph.ReduceAllMean(judge(pass.Output)))
		w := graph.StopGradient(graph.Div(length(pass.Error()), graph.AddScalar(length(generator), 1e-4)))
		tokenizer := graph.Add(pass.Error(), graph.Mul(generator, graph.MulScalar(w, 0.5)))
		if pass.Quantized.Loss != nil {
			tokenizer = graph.Add(tokenizer, pass.Quantized.Loss)
		}
		hinge := hingeLoss(judge(pass.Target), judge(graph.StopGradient(pass.Output)))
		return append(graph.Gradient(tokenizer, nodes(v, ours)...), graph.Gradient(hinge, nodes(v, theirs)...)...)
	}, batch[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := trainer.loop.Advance(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	after := read(t, trainer)
	if len(ours) < 20 || len(theirs) != 8 { // 3 convolutions, 1 norm
		t.Errorf("%d and %d variables are trained", len(ours), len(theirs))
	}
	for i, p := range append(ours, theirs...) {
		length := rate * trainer.stride(p, before[p].Shape)
		if strings.HasPrefix(p, discriminatorPrefix) {
			length *= multiple
		}
		largest := max(-slices.Min(slopes[i].Data), slices.Max(slopes[i].Data))
		for j, x := range before[p].Data {
			want, got := -length*float64(slopes[i].Data[j]), float64(after[p].Data[j]-x)
			rounding := 2e-7*math.Abs(float64(x)) + 1e-8 // biases before a norm have no gradient but rounding
			if math.Abs(got-want) > 2e-3*length*float64(largest)+rounding {
				t.Fatalf("element %d of %s moves by %g, want %g", j, p, got, want)
			}
		}
	}
}

// The discriminator begins late, its first step of Adam has the length of its rate, and it is kept in checkpoints but not
// in the result.
func TestDiscriminatorBeginsLateAndStaysOut(t *testing.T) {
	const begin, rate = 9, 0.5
	c := contested(t, "ema")
	c.Train.Steps, c.Train.Adversarial.Start, c.Train.Adversarial.Rate, c.Train.ClipNorm = 20, begin/20.0, rate, 0
	c.Train.Schedule = optim.Schedule{Kind: "constant"}
	c.Train.Optimizer.Epsilon = 1e-12
	dir := t.TempDir()
	trainer := start(t, c, scenes(t, sceneSet, nil), dir, false, Observer{})
	steps(t, trainer, begin)
	if len(read(t, trainer).Sub(discriminatorPrefix)) > 0 || trainer.record.Adversarial != nil {
		t.Error("there is a discriminator before its start")
	}
	steps(t, trainer, begin+1)
	first := trainer.discriminator().Init(weights.Rand(c.Seed, discriminatorPrefix))
	now := read(t, trainer).Sub(discriminatorPrefix)
	for p, a := range first {
		for i, x := range a.Data {
			moved := math.Abs(float64(now[p].Data[i] - x))
			if moved > 0 && math.Abs(moved/(rate*c.Train.Optimizer.Rate)-1) > 0.01 {
				t.Fatalf("the first step moves %s by %g, want %g", p, moved, rate*c.Train.Optimizer.Rate)
			}
		}
	}
	if err := trainer.loop.Save(); err != nil {
		t.Fatal(err)
	}
	content, _, _, err := checkpoint.Load(dir, c.Train.Keep, new(struct{}))
	if err != nil {
		t.Fatal(err)
	}
	for p := range first {
		for _, prefix := range []string{"", "optimizer/first/", "optimizer/second/"} {
			if content.Variables[prefix+discriminatorPrefix+"/"+p] == nil {
				t.Errorf("the checkpoint has no %s of the discriminator's %s", prefix, p)
			}
		}
	}
	for p := range run(t, trainer) {
		if strings.HasPrefix(p, discriminatorPrefix) {
			t.Errorf("the result holds %s", p)
		}
	}
}

// Interrupted before, at and after the discriminator's start, a run with batches in parts ends as one that was not.
func TestResumedContestIsIdentical(t *testing.T) {
	source, c := scenes(t, sceneSet, nil), contested(t, "grit")
	c.Train.Steps, c.Train.Accumulate, c.Train.Log, c.Train.Evaluate = 12, 2, 1, 0 // it begins before step 5
	straight, dir := t.TempDir(), t.TempDir()
	want := run(t, start(t, c, source, straight, false, Observer{}))
	for _, stop := range []int{2, 4, 5, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		trainer := start(t, c, source, dir, true, Observer{Step: func(r Record) {
			if r.Step == stop {
				cancel()
			}
		}})
		if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
			t.Fatal(err)
		}
		trainer.Close()
	}
	identical(t, run(t, start(t, c, source, dir, true, Observer{})), want)
	var logs [2][]byte
	for i, d := range []string{straight, dir} {
		var err error
		if logs[i], err = os.ReadFile(filepath.Join(d, train.LogFile)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(logs[0], logs[1]) {
		t.Errorf("the logs differ:\n%s\n%s", logs[0], logs[1])
	}
	records, err := ReadLog(filepath.Join(dir, train.LogFile))
	if err != nil || records[3].Adversarial != nil || records[4].Adversarial == nil {
		t.Errorf("the log has the contest from another step than 5 on (%v)", err)
	}
}

// A discriminator that is not finite leaves the tokenizer's step alone, and the weight falls until it is 0.
func TestBrokenDiscriminatorIsGivenUp(t *testing.T) {
	c := contested(t, "ema")
	c.Train.Adversarial.Start = 0
	dir := t.TempDir()
	trainer := start(t, c, scenes(t, sceneSet, nil), dir, false, Observer{})
	steps(t, trainer, 1)
	broken := read(t, trainer)[discriminatorPrefix+"/conv0/weights"]
	broken.Data[0] = float32(math.NaN())
	if err := trainer.bank.Install(weights.Set{discriminatorPrefix + "/conv0/weights": broken}); err != nil {
		t.Fatal(err)
	}
	var shares []float64
	events := 0
	for i := 1; i < 10; i++ {
		before := read(t, trainer)
		steps(t, trainer, i+1)
		after := read(t, trainer)
		if firstDifference(after[trainer.model.LastLayer()].Data, before[trainer.model.LastLayer()].Data) < 0 {
			t.Errorf("step %d left the tokenizer as it was", i+1)
		}
		shares = append(shares, trainer.state.Contest.Share)
		if float64(after[discriminatorPrefix+"/"+shareName].Data[0]) != trainer.state.Contest.Share {
			t.Error("the graph has another share than the guard")
		}
	}
	records, err := ReadLog(filepath.Join(dir, train.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if strings.Contains(r.Event, "adversarial loss: the discriminator is not finite; its weight falls") {
			events++
		}
	}
	if shares[0] != 0.5 || shares[5] != 1.0/64 || shares[6] != 0 || shares[8] != 0 || events != 7 {
		t.Errorf("the shares are %v with %d events in the log", shares, events)
	}
}

// The guard tells a contest that is lost, won or at the reconstruction's cost from one that is not, and waits.
func TestContestIsJudged(t *testing.T) {
	const level = 0.01
	for want, c := range map[string]struct{ hinge, smooth float64 }{
		"":                         {0.7, 1.5 * level},
		"the discriminator wins":   {0.01, level},
		"the discriminator loses":  {1.2, level},
		"the reconstruction error": {0.7, 2.1 * level},
	} {
		state := contest{Share: 1, Since: 100, Level: level, Hinge: c.hinge}
		if early := state.problem(100+contestAfter-1, true, c.smooth); early != "" {
			t.Errorf("judged too early: %s", early)
		}
		if got := state.problem(100+contestAfter, true, c.smooth); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("judged %q, want %q", got, want)
		}
	}
}

func TestAdversarialSettings(t *testing.T) {
	for _, preset := range []string{"default", "paper"} {
		if c, err := Pictures(preset, "grit"); err != nil || c.Train.Adversarial.Weight != 0 {
			t.Errorf("preset %s has a discriminator (%v)", preset, err)
		}
	}
	for word, set := range map[string]func(c *Config){
		"weight": func(c *Config) { c.Train.Adversarial.Weight = -1 },
		"start":  func(c *Config) { c.Train.Adversarial.Start = 1 },
		"rate":   func(c *Config) { c.Train.Adversarial.Rate = 0 },
		"vectors": func(c *Config) {
			*c = tiny(t, "ste")
			c.Train.Adversarial.Weight = 1
		},
	} {
		c := contested(t, "ste")
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		set(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
