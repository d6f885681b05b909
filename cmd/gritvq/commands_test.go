package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/train/vqtrain"
)

// silent is a set of streams into buffers.
func silent() (s *streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &streams{out: out, err: err}, out, err
}

// trainConfig parses a train command line and returns its configuration.
func trainConfig(t *testing.T, args ...string) (vqtrain.Config, error) {
	t.Helper()
	s, _, _ := silent()
	var c vqtrain.Config
	cmd := newTrainCommand(s, func(_ context.Context, _ *streams, o trainOptions) (err error) {
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
	cmd := newEncodeCommand(s, func(_ context.Context, _ *streams, o encodeOptions) error { got = o; return nil })
	cmd.SetArgs([]string{"tok", "x.npy", "-o", "c.gvq", "--levels", "2", "--beam", "8", "--workers", "3", "--drop-nonfinite", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := (encodeOptions{codingOptions{bundle: "tok", input: "x.npy", levels: 2, beam: 8, workers: 3, drop: true, backend: "go"}, "c.gvq", true}); got != want {
		t.Errorf("encode got %+v", got)
	}
	var decoded decodeOptions
	cmd = newDecodeCommand(s, func(_ context.Context, _ *streams, o decodeOptions) error { decoded = o; return nil })
	cmd.SetArgs([]string{"tok", "c.gvq", "-o", "r.npy", "--force", "--backend", "xla:cuda"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := (decodeOptions{bundle: "tok", input: "c.gvq", output: "r.npy", force: true, backend: "xla:cuda"}); decoded != want {
		t.Errorf("decode got %+v", decoded)
	}
}

func TestFailuresAreOneSentence(t *testing.T) {
	for name, c := range map[string]struct {
		run  func() error
		code int
		text string
	}{
		"fine":        {func() error { return nil }, exitOK, ""},
		"failed":      {func() error { return errors.New("no") }, exitFailed, "gritvq: no\n"},
		"usage":       {func() error { return usage.Errorf("bad %s", "flag") }, exitUsage, "gritvq: bad flag\n"},
		"interrupted": {func() error { return fmt.Errorf("%w at step 3", vqtrain.ErrInterrupted) }, exitInterrupted, "gritvq: interrupted at step 3\n"},
		"traced":      {func() error { return errors.New("shapes differ:\n  at line 3\n  at line 4") }, exitFailed, "gritvq: shapes differ (--debug shows where)\n"},
		"panic":       {func() error { panic(errors.New("axis 3\nof 2")) }, exitFailed, "gritvq: internal failure: axis 3 (--debug shows where)\n"},
	} {
		s, _, text := silent()
		if code := explain(s, withoutPanic(c.run), false); code != c.code || text.String() != c.text {
			t.Errorf("%s: exit code %d and %q, want %d and %q", name, code, text, c.code, c.text)
		}
	}
	s, _, text := silent()
	explain(s, withoutPanic(func() error { panic("here") }), true)
	if !strings.Contains(text.String(), "internal failure: here\n") || !strings.Contains(text.String(), "commands_test.go") {
		t.Errorf("--debug gave %q", text)
	}
}

func TestCommandLineIsQuotedAndRepeatable(t *testing.T) {
	got := commandLine([]string{"train", "my file.npy", "-o", "it's", "--resume", "--set", "a.b=[1,2]"})
	if want := `gritvq train 'my file.npy' -o 'it'\''s' --set 'a.b=[1,2]'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
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

func TestBackendNames(t *testing.T) {
	for value, want := range map[string]string{"tpu": `unknown backend "tpu"`, "go:fast": "takes no options", "": `unknown backend ""`} {
		_, err := openEngine(value)
		if _, usage := errors.AsType[usage.Error](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v", value, err)
		}
	}
	if _, err := openEngine("xla"); !xlaBuiltIn && (err == nil || !strings.Contains(err.Error(), "-tags xla")) {
		t.Errorf("xla gave %v", err)
	}
}
