package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"

	"github.com/gritvq/gritvq/train/vqtrain"
)

// silent is a set of streams into buffers.
func silent() (s *cli.Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Streams{Out: out, Err: err}, out, err
}

// trainConfig parses a train command line and returns its configuration.
func trainConfig(t *testing.T, args ...string) (vqtrain.Config, error) {
	t.Helper()
	s, _, _ := silent()
	var c vqtrain.Config
	cmd := newTrainCommand(s, func(_ context.Context, _ *cli.Streams, o trainOptions) (err error) {
		c, err = o.settings.config()
		return err
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"x.npy", "-o", "tok"}, args...))
	err := cmd.Execute()
	return c, err
}

func TestSettingsPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte("seed: 5\ntrain: {steps: 111, batch: 222, clip_norm: 3}\nquantizer: {method: ema, codes: 64}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := trainConfig(t, "--config", file, "--batch", "333", "--codes", "128", "--set", "quantizer.codes=512")
	if err != nil {
		t.Fatal(err)
	}
	base, err := vqtrain.Default("ema")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		name      string
		got, want any
	}{
		{"preset", c.Train.Optimizer, base.Train.Optimizer},
		{"preset of the file's method", c.Quantizer.Learn, base.Quantizer.Learn},
		{"file", c.Train.Steps, 111}, {"file", c.Seed, uint64(5)}, {"file", c.Train.ClipNorm, 3.0},
		{"flag over file", c.Train.Batch, 333},
		{"--set over flag", c.Quantizer.Codes, 512},
	} {
		if v.got != v.want {
			t.Errorf("%s: %v, want %v", v.name, v.got, v.want)
		}
	}
}

func TestFlagsBecomeSettings(t *testing.T) {
	c, err := trainConfig(t, "--method", "ste", "--codes", "16", "--levels", "3", "--parts", "2", "--dim", "8", "--hidden", "40,20", "--steps", "600", "--batch", "32", "--split", "0.8", "--seed", "9")
	if err != nil {
		t.Fatal(err)
	}
	q := c.Quantizer
	if q.Method != "ste" || q.Codes != 16 || q.Levels != 3 || q.Parts != 2 || c.Model.Dim != 8 || !slices.Equal(c.Model.Hidden, []int{40, 20}) ||
		c.Train.Steps != 600 || c.Train.Batch != 32 || c.Train.Split != 0.8 || c.Seed != 9 {
		t.Errorf("got %+v", c)
	}
	if c, err = trainConfig(t, "--hidden", "none"); err != nil || len(c.Model.Hidden) != 0 || c.Model.Dim != 0 {
		t.Errorf("--hidden none gave %+v, %v", c.Model, err)
	}
	if c, err = trainConfig(t, "--codes", "4"); err != nil || c.Quantizer.Transform.Rank > 4 {
		t.Errorf("rank %d for 4 codes, %v", c.Quantizer.Transform.Rank, err)
	}
	base, err := vqtrain.Default("grit")
	if err != nil {
		t.Fatal(err)
	}
	// A short run is lowered to its size but for what --set names, if only to repeat the preset.
	short := []string{"--steps", "60"}
	for key, value := range map[string]func(vqtrain.Config) int{
		"train.schedule.warmup": func(c vqtrain.Config) int { return c.Train.Schedule.Warmup },
		"train.evaluate":        func(c vqtrain.Config) int { return c.Train.Evaluate },
		"train.log":             func(c vqtrain.Config) int { return c.Train.Log },
	} {
		lowered, err := trainConfig(t, short...)
		if err != nil || value(lowered) >= value(base) {
			t.Errorf("%s of a short run is %d, %v", key, value(lowered), err)
		}
		told, err := trainConfig(t, append(slices.Clone(short), "--set", fmt.Sprintf("%s=%d", key, value(base)))...)
		if err != nil || value(told) != value(base) {
			t.Errorf("--set %s=%d gave %d, %v", key, value(base), value(told), err)
		}
	}
	paper, err := trainConfig(t, "--preset", "paper")
	if want, _ := vqtrain.Paper("grit"); err != nil || paper.Quantizer.Transform.Kind != want.Quantizer.Transform.Kind || paper.Quantizer.Learn != "frozen" {
		t.Errorf("--preset paper gave %+v, %v", paper.Quantizer, err)
	}
}

func TestCommandsPassTheirOptions(t *testing.T) {
	s, _, _ := silent()
	var got encodeOptions
	cmd := newEncodeCommand(s, func(_ context.Context, _ *cli.Streams, o encodeOptions) error { got = o; return nil })
	cmd.SetArgs([]string{"tok", "x.npy", "-o", "c.gvq", "--levels", "2", "--beam", "8", "--workers", "3", "--drop-nonfinite", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := (encodeOptions{codingOptions{bundle: "tok", input: "x.npy", levels: 2, beam: 8, workers: 3, drop: true, backend: "go"}, "c.gvq", true}); got != want {
		t.Errorf("encode got %+v", got)
	}
	var decoded decodeOptions
	cmd = newDecodeCommand(s, func(_ context.Context, _ *cli.Streams, o decodeOptions) error { decoded = o; return nil })
	cmd.SetArgs([]string{"tok", "c.gvq", "-o", "r.npy", "--force", "--backend", "xla:cuda"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := (decodeOptions{bundle: "tok", input: "c.gvq", output: "r.npy", force: true, backend: "xla:cuda"}); decoded != want {
		t.Errorf("decode got %+v", decoded)
	}
}

func TestSparkline(t *testing.T) {
	if got := sparkline([]int64{0, 100, 100, 0, 1, 0}, 6); got != "██▂···" {
		t.Errorf("got %s", got)
	}
	if got := sparkline([]int64{5, 5, 5, 5}, 2); got != "██" {
		t.Errorf("got %s", got)
	}
	if got := sparkline(make([]int64, 4), 4); got != "····" {
		t.Errorf("got %s", got)
	}
}
