package generation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/networktest"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/prior"
)

// scored is a job's record with made-up scores.
func scored(j Job) Record {
	return Record{Job: j, Reconstructed: &picture.Scores{PSNR: 25}, Likelihood: &prior.Scores{BitsPerImage: 900}, Drawn: &picture.SetScores{}}
}

func job(id string) Job {
	return Job{ID: id, Data: "d", Train: "t.tar", Val: "v.tar", Method: "grit", Codes: 8, Samples: 2}
}

// A list is run in parallel; finished jobs are not run again, failed ones and those that took too long are.
func TestRunResumesAList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records.jsonl")
	o := jobs.Options{Parallel: 3, Limit: 200 * time.Millisecond, Origin: jobs.Origin{Commit: "abc", Hardware: "a machine"}}
	list := []Job{job("a-one"), job("a-two"), job("a-bad"), job("a-slow")}
	var begun atomic.Int32
	broken := true
	measure := func(ctx context.Context, j Job) (Record, error) {
		begun.Add(1)
		switch {
		case broken && j.ID == "a-bad":
			return Record{}, errors.New("no memory\ntrace")
		case broken && j.ID == "a-slow":
			<-ctx.Done()
			return Record{}, ctx.Err()
		}
		return scored(j), nil
	}
	failures := func() map[string]string {
		records, err := table.ReadLines[Record](file)
		if err != nil || len(records) != len(list) {
			t.Fatalf("%d records, %v", len(records), err)
		}
		failed := map[string]string{}
		for _, r := range records {
			if r.Commit != "abc" || r.Hardware != "a machine" || r.Date == "" {
				t.Errorf("a record without its origin: %+v", r)
			}
			if r.Failed != "" {
				failed[r.ID] = r.Failed
			}
		}
		return failed
	}
	if err := Run(t.Context(), list, file, o, measure, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	f := failures()
	if begun.Load() != 4 || len(f) != 2 || f["a-bad"] != "no memory" || !strings.Contains(f["a-slow"], "not done after 200ms") {
		t.Errorf("%d jobs begun, failures %v", begun.Load(), f)
	}
	broken = false
	claim, err := output.Lock(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), list, file, o, measure, task.Silent{}); err == nil || begun.Load() != 4 {
		t.Errorf("two lists in one directory: %v, %d jobs begun", err, begun.Load())
	}
	claim.Release()
	if err := Run(t.Context(), list, file, o, measure, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	if f := failures(); begun.Load() != 6 || len(f) != 0 {
		t.Errorf("%d jobs begun, failures %v", begun.Load(), f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	measure = func(context.Context, Job) (Record, error) { cancel(); return Record{}, errors.New("ended") }
	err = Run(ctx, append(list, job("a-new")), file, o, measure, task.Silent{})
	if !errors.Is(err, context.Canceled) || len(failures()) != 0 {
		t.Errorf("an interrupted list: %v", err)
	}
	for _, bad := range [][]Job{{job("one")}, {job("a-one"), job("a-one")}, {{ID: "a-x"}}} {
		if err := Run(t.Context(), bad, file, o, measure, task.Silent{}); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// When the time of the call is over, jobs under way are no failures, one that ends then is kept, and the next call goes on.
func TestRunEndsInTime(t *testing.T) { synctest.Test(t, runEndsInTime) } // by a clock that waits for slow machines

func runEndsInTime(t *testing.T) {
	file, o := filepath.Join(t.TempDir(), "records.jsonl"), jobs.Options{Parallel: 2, Within: 100 * time.Millisecond}
	over := false
	measure := func(ctx context.Context, j Job) (Record, error) {
		if !over {
			<-ctx.Done()
			if j.ID == "a-slow" {
				return Record{}, ctx.Err()
			}
		}
		return scored(j), nil
	}
	list := []Job{job("a-last"), job("a-slow"), job("a-next")}
	for i, want := range [][]string{{"a-last"}, {"a-last", "a-next", "a-slow"}} {
		if over = i > 0; over {
			o.Within = time.Minute
		}
		if err := Run(t.Context(), list, file, o, measure, task.Silent{}); err != nil {
			t.Fatal(err)
		}
		records, err := table.ReadLines[Record](file)
		var done []string
		for _, r := range records {
			if r.Failed != "" {
				t.Errorf("%s failed: %s", r.ID, r.Failed)
			}
			done = append(done, r.ID)
		}
		if slices.Sort(done); err != nil || !slices.Equal(done, want) {
			t.Errorf("call %d: %v are done, %v", i+1, done, err)
		}
	}
	changed := job("a-slow")
	changed.Codes++
	err := Run(t.Context(), []Job{changed}, file, o, measure, task.Silent{})
	if err == nil || !strings.Contains(err.Error(), "a-slow of other settings") {
		t.Errorf("the record of other settings counts: %v", err)
	}
}

// Every job of the paper's grid has settings that work.
func TestGridIsValid(t *testing.T) {
	jobs := Grid()
	if len(jobs) != 13+2*3+2*5+2*5+4*5 {
		t.Errorf("%d jobs", len(jobs))
	}
	for i, j := range jobs {
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		if slices.ContainsFunc(jobs[:i], func(other Job) bool { return other.ID == j.ID }) {
			t.Errorf("two jobs are called %s", j.ID)
		}
		c, err := tokenizerConfig(j)
		if (j.Variant == "context") != (c.Quantizer.Transform.Context == 2) {
			t.Errorf("%s: variant %q has a context of %d", j.ID, j.Variant, c.Quantizer.Transform.Context)
		}
		if err == nil {
			_, err = c.Tokenizer(c.Model.Image.Input())
		}
		if err != nil {
			t.Errorf("%s: %v", j.ID, err)
		}
		if tokens := c.Model.Image.Grid() * c.Model.Image.Grid(); tokens != 256 {
			t.Errorf("%s has %d codes a picture", j.ID, tokens)
		}
		if _, err := (prior.Settings{Set: j.Prior}).Config(true); err != nil {
			t.Errorf("%s: %v", j.ID, err)
		}
		for _, assignment := range j.Tokenizer {
			if err := config.Set(&c, assignment); err != nil {
				t.Errorf("%s: %v", j.ID, err)
			}
		}
	}
}

// A job goes from pictures to scores, and a second call repeats the missing stages alone.
func TestMeasureKeepsItsStages(t *testing.T) {
	networks := t.TempDir()
	if err := networktest.Write(networks); err != nil {
		t.Fatal(err)
	}
	p := Place{Metrics: networks, Work: t.TempDir(), Backend: "go"}
	j := Job{ID: "s-tiny", Data: "scenes", Train: "synthetic:scenes?images=24&size=32", Val: "synthetic:scenes?images=12&size=32&seed=5",
		Method: "ema", Codes: 8, Seed: 1, Samples: 12,
		Tokenizer: []string{"model.image.size=32", "model.image.widths=[4,4,8,8]", "model.dim=4", "train.steps=2", "train.batch=4"},
		Prior:     []string{"model.layers=1", "model.width=8", "model.heads=2", "train.steps=2", "train.batch=4"}}
	first, err := Measure(t.Context(), j, p, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Check(); err != nil {
		t.Error(err)
	}
	s := first.Record().Scores
	for _, name := range []string{"psnr", "lpips", "bits", "perplexity", "kid", "kid_held", "precision"} {
		if _, ok := s[name]; !ok {
			t.Errorf("no score %s in %v", name, s)
		}
	}
	if s["bits"] <= 0 || s["perplexity"] < 1 || s["perplexity"] > 100 {
		t.Errorf("scores %v", s)
	}
	dir := filepath.Join(p.Work, j.ID)
	if row, err := firstSamples(t.Context(), filepath.Join(dir, firstFile)); err != nil || len(row.Pictures) != drawnInRow {
		t.Errorf("%d samples are kept to be shown, %v", len(row.Pictures), err)
	}
	samples, err := os.Stat(filepath.Join(dir, "samples.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "likelihood.json")); err != nil {
		t.Fatal(err)
	}
	second, err := Measure(t.Context(), j, p, task.Silent{})
	if err != nil || second.Likelihood.NLL != first.Likelihood.NLL {
		t.Errorf("the second call gives %+v, %v", second.Likelihood, err)
	}
	if second.TokenizerHash != first.TokenizerHash || first.TokenizerHash == "" {
		t.Errorf("the configurations are %q and %q", first.TokenizerHash, second.TokenizerHash)
	}
	if again, err := os.Stat(filepath.Join(dir, "samples.tar")); err != nil || !again.ModTime().Equal(samples.ModTime()) {
		t.Errorf("the samples were drawn again (%v)", err)
	}
	j.Codes = 16
	if _, err := Measure(t.Context(), j, p, task.Silent{}); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("another job of the same name: %v", err)
	}
}
