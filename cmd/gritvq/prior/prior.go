// Package prior is the command gritvq prior and the commands below it.
package prior

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/prior"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prior",
		Short: "Train and score a model of a tokenizer's codes",
		Long: `A prior is a transformer that predicts every code of a picture from those before it.
Sampled code by code it makes new pictures; its likelihood of held-out pictures says
how many bits their codes are worth.`,
		Example: `  gritvq train photos.tar -o tok --size 128 --down 8 --codes 512
  gritvq prior train tok photos.tar -o prior
  gritvq prior eval prior photos-val.tar --json`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.Help,
	}
	cmd.AddCommand(newTrain(s), newEval(s))
	return cmd
}

func newTrain(s *cli.Streams) *cobra.Command {
	var o prior.TrainOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "train [TOKENIZER [PICTURES]] -o DIR",
		Short: "Train a prior on the codes of pictures, or on any rows of codes",
		Long: `Encodes the pictures once, and once mirrored, and trains a prior on their codes. The
weights with the best likelihood of the held-out pictures are kept. DIR has a copy of
the tokenizer and is all that sampling needs.

--codes trains on rows of codes from a file instead, with the tokenizer that made
them or without any: tokens of audio or items work too. Rows of several levels have
all codes of a cell one after the other; --levels says how many.

With --labels the prior also learns classes: dir makes the subfolder of a picture its
class, a file has lines of a name, a tab or a comma, and a class.

The default network is made for the engine: 12 layers of width 512 on a GPU, 4 of
width 128 on a few cores.`,
		Example: `  gritvq prior train tok photos.tar -o prior
  gritvq prior train tok photos/ -o prior --labels dir --steps 5000
  gritvq prior train tok photos.tar -o prior --backend xla --layers 12 --width 512 --heads 8
  gritvq prior train --codes codes.npy --levels 4 -o prior`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return cli.Arguments("TOKENIZER", "PICTURES")(cmd, args)
			}
			return nil
		},
	}
	cli.OutputFlag(cmd, &o.Dir, "directory of the prior", "prior")
	f := cmd.Flags()
	settings := map[string]string{"layers": "model.layers", "width": "model.width", "heads": "model.heads", "dropout": "model.dropout",
		"steps": "train.steps", "batch": "train.batch", "seed": "train.seed", "flips": "flips", "split": "validation"}
	f.Int("layers", 0, "blocks of the network (default 12 on a GPU, else 4)")
	f.Int("width", 0, "dimension of a token's vector (default 512 on a GPU, else 128)")
	f.Int("heads", 0, "attention heads (default 8 on a GPU, else 4)")
	f.Float64("dropout", 0.1, "share of the values dropped while training")
	f.Int("steps", 0, "training steps (default 10000 on a GPU, else 2000)")
	f.Int("batch", 0, "rows a step (default 64 on a GPU, else 16)")
	f.Uint64("seed", 1, "decides initial weights, the order of the data and dropout")
	f.Bool("flips", true, "also learn from every picture mirrored")
	f.Float64("split", 0.05, "share of the pictures or rows held out for validation")
	f.StringVar(&o.Source.Held, "val", "", "pictures or file of codes to validate with, instead of --split")
	f.StringVar(&o.Source.Codes, "codes", "", "rows of codes, .npy, .parquet, .jsonl or .gvq, instead of pictures")
	f.IntVar(&o.Source.Levels, "levels", 0, "of --codes: codes of a cell (default that of the tokenizer, or 1)")
	f.StringVar(&o.Source.Labels, "labels", "", "classes of pictures: dir for their subfolders, or a file of names and classes")
	f.StringVar(&o.Settings.File, "config", "", "YAML file of settings, as the config.yaml that training writes")
	f.StringArrayVar(&o.Settings.Set, "set", nil, "one setting, such as model.dropout=0.2 (repeatable)")
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.Force, "force", false, "overwrite the files in the directory")
	cli.WorkersFlag(cmd, &o.Source.Workers)
	cli.JSONFlag(cmd, &asJSON, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.Source.Tokenizer = args[0]
		}
		if len(args) > 1 {
			o.Source.Pictures = args[1]
		}
		if o.Source.Held != "" && f.Changed("split") {
			return usage.Errorf("--split and --val exclude each other: the held-out rows are those of %s", o.Source.Held)
		}
		var given []string
		for _, name := range []string{"layers", "width", "heads", "dropout", "steps", "batch", "seed", "flips", "split"} {
			if f.Changed(name) {
				given = append(given, settings[name]+"="+f.Lookup(name).Value.String())
			}
		}
		o.Settings.Set = append(given, o.Settings.Set...)
		o.Command = s.Command
		p, err := prior.TrainPrior(cmd.Context(), o, s)
		if err != nil {
			return err
		}
		return s.WriteResult(p.Summary(), nil, asJSON)
	}
	return cmd
}

func newEval(s *cli.Streams) *cobra.Command {
	var o prior.EvalOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval PRIOR [PICTURES]",
		Short: "Score a prior on pictures or codes it has not seen",
		Long: `Measures the negative log-likelihood of the codes of pictures, encoded with the prior's
own tokenizer, or of a file of codes, beside that of classical models of the same
training codes: the frequencies of codes, and the neighbour model that picture files
are coded with.`,
		Example: `  gritvq prior eval prior photos-val.tar --json
  gritvq prior eval prior --codes codes-val.npy`,
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Arguments([]string{"PRIOR", "PICTURES"}[:max(1, min(len(args), 2))]...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			if len(args) > 1 {
				o.Pictures = args[1]
			}
			scores, err := prior.Evaluate(cmd.Context(), o, s)
			return s.WriteResult(scores, err, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Codes, "codes", "", "rows of codes, .npy, .parquet, .jsonl or .gvq, instead of pictures")
	f.StringVar(&o.Labels, "labels", "",
		"classes of pictures: dir for their subfolders, or a file of names and classes\n(default: as if they had no class)")
	cli.WorkersFlag(cmd, &o.Workers)
	cli.JSONFlag(cmd, &asJSON, "the scores as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}
