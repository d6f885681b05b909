// Package train is the command gritvq train.
package train

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

type options struct {
	tokenize.TrainOptions
	settings cli.Settings
	from     string
	freeze   []string
	json     bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "train DATA -o DIR",
		Short: "Train a tokenizer on vectors or pictures",
		Long: `Trains a tokenizer and writes it to a directory with a report. DATA is a file of vectors:
.npy, .npz, .safetensors, .parquet, .fvecs, .bvecs, or rows of numbers in .csv, .tsv
or .txt (file.npz:NAME, file.safetensors:NAME and file.parquet:NAME choose an array,
a tensor or a column of lists); or pictures: a folder, a .tar or a .zip of JPEG, PNG,
GIF, WebP or BMP files; or a built-in set (synthetic:manifold, synthetic:mixture,
synthetic:scenes). Part of it is held out to score the result.

Vectors are quantized as they are: codes start as those of residual k-means, a usable
tokenizer in DIR/start while training goes on. Trials on training rows decide whether a
decoder that refines these codes, or with few rows codes that learn, improve on the
start; otherwise the start is kept. --set train.choose=[] trains exactly what is
configured, and --hidden or --dim put a network around the quantizer.

--from starts from a trained tokenizer instead of a preset: its settings, its scaling of
the data and its weights. --levels and --codes add to what it has. --freeze keeps parts:
with encoder,codes every item keeps its codes, and the decoder alone gets better. Rows
that are not trained on decide whether training improved on the tokenizer.

Settings come from the preset, then the config file, then flags, then --set. A run
that was interrupted or killed continues with --resume as if nothing had happened, and
says after which step. Ctrl-C and SIGTERM finish the step, save and exit with 130 and
143; a second signal within two seconds is ignored, a later or third one does not wait.`,
		Example: `  gritvq train vectors.npy -o tok
  gritvq train vectors.npy -o tok --codes 1024 --levels 2 --steps 5000
  gritvq train new.npy -o tok2 --from tok --freeze encoder,codes
  gritvq train new.npy -o tok2 --from tok --levels 6
  gritvq train photos.tar -o tok --size 128 --down 8 --codes 4096
  gritvq train synthetic:manifold -o tok --method ste --hidden none --set train.optimizer.rate=0.002`,
		Args: cli.Arguments("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Input.Path = args[0]
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "directory of the tokenizer", "tok")
	o.settings.AddFlags(cmd, true)
	f := cmd.Flags()
	f.StringVar(&o.Input.Metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	f.StringVar(&o.Input.Held, "val", "", "held-out vectors or pictures, instead of --split")
	f.StringVar(&o.Codebook, "init-codebook", "",
		"start from these codes: an array [codes*levels, dim], level after level, in\n"+
			"the units of the vectors (without a network) or of the latents")
	f.StringVar(&o.Init, "init", "",
		"start from the codes of a FAISS index: faiss:index.faiss; it decides --codes,\n"+
			"--levels and --parts")
	f.StringVar(&o.from, "from", "", "start from this tokenizer: train it further, add levels or codes")
	f.StringSliceVar(&o.freeze, "freeze", nil, "parts of that tokenizer that stay as they are: encoder, codes, decoder")
	f.StringVar(&o.TensorBoard, "tensorboard", "", "write events that TensorBoard shows into this directory")
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.Force, "force", false, "overwrite the files in the directory")
	f.BoolVar(&o.Input.Drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	cli.WorkersFlag(cmd, &o.Input.Workers)
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o options) error {
	settings, err := layers(&o)
	if err != nil {
		return err
	}
	if o.Config, err = settings.Config(); err != nil {
		return err
	}
	if o.Input.Held != "" && o.settings.Given("split") {
		return usage.Errorf("--split and --val exclude each other: the held-out rows are those of %s", o.Input.Held)
	}
	o.Input.FixedPerceptual, o.Command, o.Reference = o.settings.FixedPerceptual(), s.Command, true
	trained, err := tokenize.Train(ctx, o.TrainOptions, s)
	if err != nil {
		return settings.Explain(err)
	}
	return show(s, o.json, trained)
}

// layers returns the settings: over those of a preset, or of the tokenizer of --from.
func layers(o *options) (tokenize.Settings, error) {
	settings := o.settings.Layers(dataset.KindOf(o.Input.Path).IsPictures())
	flags := settings.Flags
	settings.Flags = func(c *vqtrain.Config) error {
		if o.freeze != nil {
			c.Train.Freeze = o.freeze
		}
		return flags(c)
	}
	var err error
	if o.from == "" {
		settings.Defaults, err = tokenize.InitDefaults(o.Init)
		return settings, err
	}
	if o.settings.Given("preset") {
		return settings, usage.Errorf("--preset and --from exclude each other: the settings are those of %s", o.from)
	}
	if o.From, err = tokenize.OpenFrom(o.from); err != nil {
		return settings, err
	}
	return o.From.Settings(settings, o.Input.Path)
}

func show(s *cli.Streams, asJSON bool, t *tokenize.Trained) error {
	m := t.Bundle.Manifest
	if asJSON {
		return s.WriteJSON(t)
	}
	if err := s.WriteTables(tokenize.Tables(m)); err != nil {
		return err
	}
	steps := fmt.Sprintf("%d steps", m.Training.Steps)
	if m.Training.Resumed > 0 {
		steps = fmt.Sprintf("steps %d to %d", m.Training.Resumed+1, m.Training.Steps)
	}
	if line := tokenize.ReferenceLine(m); line != "" {
		fmt.Fprintf(s.Out, "\n%s\n", line)
	}
	for _, sentence := range m.Training.Advice {
		fmt.Fprintln(s.Out, sentence)
	}
	duration := time.Duration(m.Training.Seconds * float64(time.Second))
	fmt.Fprintf(s.Out, "\ntime:   %s for %s\nreport: %s\n", report.Duration(duration), steps, t.Report)
	return nil
}
