package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/train/vqtrain"
)

// trainConfig parses flags of train and returns their configuration.
func trainConfig(t *testing.T, args ...string) (c vqtrain.Config, err error) {
	t.Helper()
	var s Settings
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		c, err = s.Layers(false).Config()
		return err
	}}
	s.AddFlags(cmd, true)
	cmd.SetArgs(args)
	return c, cmd.Execute()
}

func TestSettingsPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	document := "seed: 5\ntrain: {steps: 111, batch: 222, clip_norm: 3}\nquantizer: {method: ema, codes: 64}\n"
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
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
	c, err := trainConfig(t, "--method", "ste", "--codes", "16", "--levels", "3", "--parts", "2", "--dim", "8", "--hidden", "40,20",
		"--steps", "600", "--batch", "32", "--split", "0.8", "--seed", "9")
	if err != nil {
		t.Fatal(err)
	}
	q := c.Quantizer
	if q.Method != "ste" || q.Codes != 16 || q.Levels != 3 || q.Parts != 2 || c.Model.Dim != 8 ||
		!slices.Equal(c.Model.Hidden, []int{40, 20}) ||
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
	// A short run shortens its periods, except settings that --set names, even with the preset's value.
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
	if want, _ := vqtrain.Paper("grit"); err != nil ||
		paper.Quantizer.Transform.Kind != want.Quantizer.Transform.Kind || paper.Quantizer.Learn != "frozen" {
		t.Errorf("--preset paper gave %+v, %v", paper.Quantizer, err)
	}
}

func TestPictureFlags(t *testing.T) {
	c, err := trainConfig(t, "--size", "64", "--short", "80", "--down", "4", "--precision", "bf16", "--perceptual", "0.2")
	image := c.Model.Image
	if err != nil || image.Size != 64 || image.Short != 80 || !slices.Equal(image.Widths, []int{64, 128, 128}) ||
		image.Precision != "bf16" || c.Train.Perceptual != 0.2 {
		t.Errorf("got %+v, %v", image, err)
	}
	if c, err = trainConfig(t, "--width", "8,16", "--size", "32"); err != nil || !slices.Equal(c.Model.Image.Widths, []int{8, 16}) {
		t.Errorf("got %+v, %v", c.Model.Image, err)
	}
	if c, err = trainConfig(t, "--down", "64", "--size", "64"); err != nil || len(c.Model.Image.Widths) != 7 {
		t.Errorf("got %+v, %v", c.Model.Image, err)
	}
	if c, err = trainConfig(t, "--down", "12", "--size", "48"); err != nil || !slices.Equal(c.Model.Image.Strides, []int{3, 2, 2}) ||
		!slices.Equal(c.Model.Image.Widths, []int{64, 128, 128, 256}) || c.Model.Image.Down() != 12 {
		t.Errorf("got %+v, %v", c.Model.Image, err)
	}
	if c, err = trainConfig(t, "--down", "3", "--size", "48", "--width", "8,16"); err != nil || c.Model.Image.Grid() != 16 {
		t.Errorf("got %+v, %v", c.Model.Image, err)
	}
	for _, wrong := range [][]string{{"--down", "0"}, {"--size", "64", "--down", "3"}, {"--width", "none"},
		{"--width", "8,16", "--down", "8"}, {"--precision", "f16"}} {
		if _, err := trainConfig(t, wrong...); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}
