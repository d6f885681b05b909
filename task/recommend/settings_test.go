package recommend

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/usage"
)

// recommender returns the configuration of settings of a recommender.
func recommender(model, file string, set ...string) (Config, error) {
	return Settings{Purpose: Recommending, Model: model, File: file, Set: set}.Config()
}

// Defaults of the kind < file < assignments; a short run evaluates and warms up in
// proportion, unless told otherwise.
func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte("model: {width: 64}\ntrain: {seed: 5, batch: 100, clip_norm: 3}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := recommender("dual", file, "train.batch=200", "train.steps=400", "model.length=7")
	if err != nil {
		t.Fatal(err)
	}
	d := c.(*Dual)
	if d.Model.Width != 64 || d.Model.Length != 7 || d.Model.Layers != 2 {
		t.Errorf("got the model %+v", d.Model)
	}
	if run := d.Train; run.Seed != 5 || run.ClipNorm != 3 || run.Batch != 200 || run.Evaluate != 100 || run.Schedule.Warmup != 40 {
		t.Errorf("got the run %+v", run)
	}
	if c, err = recommender("", ""); err != nil || c.Kind() != dualKind || c.Training().Schedule.Warmup != 2000 {
		t.Errorf("by default %+v, %v", c, err)
	}
	if c, err = recommender("dual", "", "train.steps=400", "train.schedule.warmup=3"); err != nil || c.Training().Schedule.Warmup != 3 {
		t.Errorf("a warm-up that was asked for became %+v, %v", c.Training(), err)
	}
	c, err = recommender("dual", "", "train.steps=400", "train.schedule.warmup=2000", "train.evaluate = 1000")
	if err != nil || c.Training().Schedule.Warmup != 2000 || c.Training().Evaluate != 1000 {
		t.Errorf("what was asked for, though it is the default, became %+v, %v", c.Training(), err)
	}
	for _, s := range []Settings{
		{Set: []string{"model.history=1"}}, {Model: "generative", Set: []string{"model.item_layers=1"}},
		{Model: "dual", Set: []string{"beam=3"}}, {Model: "dual", Set: []string{"train.batch=1"}},
		{Model: "search"}, {File: "missing.yaml"},
	} {
		s.Purpose = Recommending
		_, err := s.Config()
		if _, usage := errors.AsType[usage.Error](err); !usage {
			t.Errorf("%+v gave %v", s, err)
		}
	}
	if c, err := (Settings{Purpose: Searching}).Config(); err != nil || c.Kind() != searchKind {
		t.Errorf("a search engine by default: %+v, %v", c, err)
	}
}

// A configuration file says which kind of model it is for, and the published ones
// are used as they stand.
func TestConfigurationDecidesTheModel(t *testing.T) {
	configs := filepath.Join("..", "..", "configs")
	for file, kind := range map[string]string{"recommend-generative.yaml": "generative", "recommend-dual.yaml": "dual"} {
		path := filepath.Join(configs, file)
		c, err := recommender("", path)
		if err != nil || c.Kind().Name != kind {
			t.Errorf("%s: %v, %v", file, c, err)
			continue
		}
		want := c.Kind().Default()
		document, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := config.Decode(document, want); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s became %+v, %v", file, c, err)
		}
	}
	_, err := recommender("generative", filepath.Join(configs, "recommend-dual.yaml"))
	if err == nil || !strings.Contains(err.Error(), "of a dual model") {
		t.Errorf("a dual configuration of a generative model: %v", err)
	}
	both := filepath.Join(t.TempDir(), "both.yaml")
	if err := os.WriteFile(both, []byte("model: {width: 64}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := recommender("", both); err != nil || c.Kind() != dualKind {
		t.Errorf("a file that fits both kinds: %v, %v", c, err)
	}
}
