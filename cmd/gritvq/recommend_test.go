package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/task/recommend"
)

// recommendSettings parses a recommend train command line and returns its
// configuration.
func recommendSettings(t *testing.T, args ...string) (recommend.Config, error) {
	t.Helper()
	s, _, _ := silent()
	var c recommend.Config
	cmd := newRecommendTrain(s, func(_ context.Context, _ *cli.Streams, o recommendTrainOptions) (err error) {
		if c, err = o.preset(); err != nil {
			return err
		}
		return o.settings(c, c.Training(), c.Validate)
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"ids", "log.txt", "-o", "rec"}, args...))
	err := cmd.Execute()
	return c, err
}

// Defaults of the kind < file < flags < --set; a short run evaluates and warms
// up in proportion, unless told otherwise.
func TestRecommendSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte("model: {width: 64}\ntrain: {seed: 5, batch: 100, clip_norm: 3}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := recommendSettings(t, "--model", "dual", "--config", file, "--batch", "200", "--steps", "400", "--set", "model.length=7")
	if err != nil {
		t.Fatal(err)
	}
	d := c.(*recommend.Dual)
	if d.Model.Width != 64 || d.Model.Length != 7 || d.Model.Layers != 2 || d.Train.Seed != 5 || d.Train.ClipNorm != 3 || d.Train.Batch != 200 ||
		d.Train.Evaluate != 100 || d.Train.Schedule.Warmup != 40 {
		t.Errorf("got %+v", d)
	}
	if c, err = recommendSettings(t); err != nil || c.Training().Batch != 256 || c.Training().Schedule.Warmup != 1000 {
		t.Errorf("by default %+v, %v", c, err)
	}
	if c, err = recommendSettings(t, "--model", "dual", "--steps", "400", "--set", "train.schedule.warmup=3"); err != nil || c.Training().Schedule.Warmup != 3 {
		t.Errorf("a warm-up that was asked for became %+v, %v", c.Training(), err)
	}
	if c, err = recommendSettings(t, "--model", "dual", "--steps", "400", "--set", "train.schedule.warmup=2000", "--set", "train.evaluate = 1000"); err != nil ||
		c.Training().Schedule.Warmup != 2000 || c.Training().Evaluate != 1000 {
		t.Errorf("what was asked for, though it is the preset's, became %+v, %v", c.Training(), err)
	}
	for _, args := range [][]string{{"--set", "model.item_layers=1"}, {"--model", "dual", "--set", "beam=3"}, {"--model", "dual", "--batch", "1"}} {
		_, err := recommendSettings(t, args...)
		if _, usage := errors.AsType[usage.Error](err); !usage {
			t.Errorf("%v gave %v", args, err)
		}
	}
}

// A configuration file says which kind of model it is for, and the published ones
// are used as they stand.
func TestConfigurationDecidesTheModel(t *testing.T) {
	for file, kind := range map[string]string{"recommend-generative.yaml": "generative", "recommend-dual.yaml": "dual"} {
		path := filepath.Join("..", "..", "configs", file)
		c, err := recommendSettings(t, "--config", path)
		if err != nil || c.Kind() != kind {
			t.Errorf("%s: %v, %v", file, c, err)
			continue
		}
		want, err := recommend.Default(kind)
		if err != nil {
			t.Fatal(err)
		}
		document, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := config.Decode(document, want); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s became %+v, %v", file, c, err)
		}
	}
	dual := filepath.Join("..", "..", "configs", "recommend-dual.yaml")
	if _, err := recommendSettings(t, "--config", dual, "--model", "generative"); err == nil || !strings.Contains(err.Error(), "of a dual model") {
		t.Errorf("a dual configuration of a generative model: %v", err)
	}
	both := filepath.Join(t.TempDir(), "both.yaml")
	if err := os.WriteFile(both, []byte("model: {width: 64}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := recommendSettings(t, "--config", both); err != nil || c.Kind() != "generative" {
		t.Errorf("a file that fits both kinds: %v, %v", c, err)
	}
}

// Who trains with the defaults and without a GPU is told what awaits him.
func TestLongRunsAreAnnounced(t *testing.T) {
	backend, failure := engine.Open(engine.Embedded)
	if failure != nil {
		t.Fatal(failure)
	}
	for _, c := range []struct {
		o    modelTraining
		want bool
	}{
		{modelTraining{given: func(string) bool { return false }}, true},
		{modelTraining{given: func(flag string) bool { return flag == "steps" }}, false},
		{modelTraining{given: func(string) bool { return false }, sets: []string{"model.layers=1"}}, false},
	} {
		s, _, err := silent()
		c.o.warnOfLongRun(s, backend, "gritvq recommend train")
		if got := strings.Contains(err.String(), "take hours here"); got != c.want {
			t.Errorf("%+v: %q", c.o.sets, err)
		}
	}
}

// lookedUp is a searcher that has spent so much time in its index.
type lookedUp struct{ time.Duration }

func (l *lookedUp) LookupTime() time.Duration { return l.Duration }

func TestTimesOfAnswersAreMedians(t *testing.T) {
	pauses := []time.Duration{60, 1, 25, 1} // milliseconds; the first does not count
	searcher := &lookedUp{time.Hour}
	got, err := timeAnswers(len(pauses), searcher, func(i int) error {
		time.Sleep(pauses[i] * time.Millisecond)
		searcher.Duration += pauses[i] * time.Microsecond
		return nil
	})
	if err != nil || got.answer < time.Millisecond || got.answer >= 20*time.Millisecond || got.lookup != time.Microsecond {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := timeAnswers(2, nil, func(int) error { return nil }); err != nil || got.lookup != 0 {
		t.Errorf("without an index: %v, %v", got, err)
	}
	failure := errors.New("no")
	if _, err := timeAnswers(3, nil, func(int) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
