package recommend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
)

// remarks keeps the remarks of a workflow.
type remarks struct {
	task.Silent
	text strings.Builder
}

func (r *remarks) Remark(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// shopIDs stores IDs of a synthetic shop and returns their directory.
func shopIDs(t *testing.T, name string) string {
	t.Helper()
	shop, err := interactions.OpenShop(name)
	if err != nil {
		t.Fatal(err)
	}
	var codes []uint32
	var keys []string
	for i, item := range shop.Catalogue.Items {
		codes, keys = append(codes, uint32(i/8), uint32(i%8)), append(keys, item.ID)
	}
	table, err := catalogue.Build(codes, []int{8, 8}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := table.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.WriteItems(dir, shop.Catalogue.Items); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program trains, scores and asks a model of each purpose through the same
// workflows.
func TestWorkflows(t *testing.T) {
	const shop = "synthetic:shop?users=40&items=60"
	ids := shopIDs(t, shop)
	for _, c := range []struct {
		config Config
		source Source
		ask    AskOptions
	}{
		{tiny()["dual"], Log(shop, interactions.Options{}), AskOptions{History: []string{"item1 item2", "item3"}}},
		{tinySearch(), Searches([]string{"derived"}, interactions.QueryOptions{}), AskOptions{Text: "folding tents"}},
	} {
		kind, purpose := c.config.Kind().Name, c.source.Purpose
		c.config.Training().Steps, c.config.Training().Evaluate = 20, 10
		dir, w := filepath.Join(t.TempDir(), "model"), &remarks{}
		o := TrainOptions{Config: c.config, IDs: ids, Source: c.source, Dir: dir, Backend: "go", Command: "a test"}
		r, err := TrainModel(t.Context(), o, w)
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Manifest; m.Kind != kind || m.Steps != 20 || m.Data != c.source.Name || m.Command != "a test" || len(m.Validation) == 0 {
			t.Errorf("%s: %+v", kind, m)
		}
		if !strings.Contains(w.text.String(), "training on ") {
			t.Errorf("%s: remarks %q", kind, w.text.String())
		}
		if _, err := TrainModel(t.Context(), o, w); err == nil || !strings.Contains(err.Error(), "holds a finished "+purpose.Title()) {
			t.Errorf("%s: trained twice: %v", kind, err)
		}
		ranks := filepath.Join(t.TempDir(), "ranks.csv")
		e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: c.source, Ranks: ranks, Cold: 1, Backend: "go"}, w)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := eval.ReadRanking(ranks); err != nil || all.Len() != e.Questions || e.Kind != kind || e.Items != 60 || e.Depth != 100 {
			t.Errorf("%s: %+v, %v", kind, e, err)
		}
		c.ask.Dir, c.ask.Purpose, c.ask.Count, c.ask.Backend = dir, purpose, 4, "go"
		answers, err := Ask(t.Context(), c.ask, w)
		if err != nil || len(answers.Items) != 4 || answers.Items[0].Title == "" || answers.Score != "inner_product" {
			t.Errorf("%s: %+v, %v", kind, answers, err)
		}
		if c.ask.Count = 0; true {
			if _, err := Ask(t.Context(), c.ask, w); err == nil {
				t.Errorf("%s: no items were asked for, and found", kind)
			}
		}
	}
	o := TrainOptions{Config: tinySearch(), IDs: ids, Source: Log(shop, interactions.Options{}), Dir: t.TempDir(), Backend: "go"}
	if _, err := TrainModel(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "does not learn from") {
		t.Errorf("a search engine of a log: %v", err)
	}
}

// A resumed run says where it goes on, and an interrupted one where it stopped.
func TestInterruptedRunTellsItsSteps(t *testing.T) {
	const shop = "synthetic:shop?users=40&items=60"
	c := tiny()["dual"]
	c.Training().Steps, c.Training().Checkpoint = 20, 5
	o := TrainOptions{Config: c, IDs: shopIDs(t, shop), Source: Log(shop, interactions.Options{}), Backend: "go"}
	o.Dir = filepath.Join(t.TempDir(), "model")
	ctx, stop := context.WithCancel(t.Context())
	_, err := TrainModel(ctx, o, &stopper{after: 7, stop: stop})
	const want = "interrupted at step 7 of 20; repeat the command with --resume to continue"
	if !errors.Is(err, train.ErrInterrupted) || err.Error() != want {
		t.Fatalf("an interrupted run ends with %v", err)
	}
	if _, err := TrainModel(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "unfinished run") {
		t.Errorf("an unfinished run was started over: %v", err)
	}
	o.Resume = true
	left := filepath.Join(o.Dir, "."+train.CheckpointFile+".1.tmp") // as a killed process leaves it
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &remarks{}
	if _, err := TrainModel(t.Context(), o, w); err != nil || !strings.Contains(w.text.String(), "continuing after step 7 of 20\n") {
		t.Errorf("the log of a resumed run is %q, %v", w.text.String(), err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary file of a killed run stays: %v", err)
	}
}

// stopper interrupts a run after a step.
type stopper struct {
	task.Silent
	after int64
	stop  func()
}

func (s *stopper) Line(total int, units string) task.Line {
	return stoppingLine{s.Silent.Line(total, units), s}
}

type stoppingLine struct {
	task.Line
	s *stopper
}

func (l stoppingLine) Update(done int64, _ string) {
	if done == l.s.after {
		l.s.stop()
	}
}

// lookedUp is a ranker that has spent so much time in its index.
type lookedUp struct{ time.Duration }

func (l *lookedUp) LookupTime() time.Duration { return l.Duration }

func TestTimesOfAnswersAreMedians(t *testing.T) {
	pauses := []time.Duration{60, 1, 25, 1} // milliseconds; the first does not count
	ranker := &lookedUp{time.Hour}
	whole, lookup, err := timeAnswers(len(pauses), ranker, func(i int) error {
		time.Sleep(pauses[i] * time.Millisecond)
		ranker.Duration += pauses[i] * time.Microsecond
		return nil
	})
	if err != nil || whole < time.Millisecond || whole >= 20*time.Millisecond || lookup != time.Microsecond {
		t.Errorf("%v, %v, %v", whole, lookup, err)
	}
	if _, lookup, err := timeAnswers(2, nil, func(int) error { return nil }); err != nil || lookup != 0 {
		t.Errorf("without an index: %v, %v", lookup, err)
	}
	failure := errors.New("no")
	if _, _, err := timeAnswers(3, nil, func(int) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
