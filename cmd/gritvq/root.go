package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/compare"
	"github.com/gritvq/gritvq/cmd/gritvq/config"
	"github.com/gritvq/gritvq/cmd/gritvq/decode"
	"github.com/gritvq/gritvq/cmd/gritvq/demo"
	"github.com/gritvq/gritvq/cmd/gritvq/doctor"
	"github.com/gritvq/gritvq/cmd/gritvq/encode"
	"github.com/gritvq/gritvq/cmd/gritvq/eval"
	"github.com/gritvq/gritvq/cmd/gritvq/export"
	"github.com/gritvq/gritvq/cmd/gritvq/grid"
	"github.com/gritvq/gritvq/cmd/gritvq/ids"
	"github.com/gritvq/gritvq/cmd/gritvq/inspect"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/cmd/gritvq/man"
	"github.com/gritvq/gritvq/cmd/gritvq/methods"
	"github.com/gritvq/gritvq/cmd/gritvq/prior"
	"github.com/gritvq/gritvq/cmd/gritvq/recommend"
	"github.com/gritvq/gritvq/cmd/gritvq/report"
	"github.com/gritvq/gritvq/cmd/gritvq/retrieve"
	"github.com/gritvq/gritvq/cmd/gritvq/sample"
	"github.com/gritvq/gritvq/cmd/gritvq/score"
	"github.com/gritvq/gritvq/cmd/gritvq/search"
	"github.com/gritvq/gritvq/cmd/gritvq/train"
	versioncmd "github.com/gritvq/gritvq/cmd/gritvq/version"
	"github.com/gritvq/gritvq/internal/version"
)

func newRootCommand(s *cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "gritvq",
		Short: "Train vector-quantized tokenizers; turn vectors and pictures into codes and back",
		Long: `gritvq learns a small set of codes for your vectors (embeddings, features) or
pictures and turns each into a few integers, and back. It trains GRIT-VQ and
its rivals, on the CPU without any other software, or on GPUs through XLA.`,
		Example: `  gritvq train vectors.npy -o tok --codes 256 --levels 4
  gritvq encode tok vectors.npy -o codes.npy
  gritvq decode tok codes.npy -o recon.npy
  gritvq train photos.tar -o pics --size 128 --down 8 --codes 4096
  gritvq ids item_emb.npy --items items.jsonl -o ids`,
		SilenceErrors: true, SilenceUsage: true,
		DisableFlagsInUseLine: true,
		Version:               version.String(),
		Args:                  cobra.ArbitraryArgs,
		RunE:                  cli.Help,
	}
	root.SetOut(s.Out)
	root.SetVersionTemplate(version.Line() + "\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetErr(s.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable .HasParent}}", 1))
	cobra.EnableCommandSorting = false // the order below is that of use
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(
		train.New(s), encode.New(s), decode.New(s), search.New(s),
		eval.New(s), grid.New(s), compare.New(s), prior.New(s), sample.New(s), score.New(s), ids.New(s),
		recommend.New(s), retrieve.New(s), inspect.New(s), report.New(s), export.New(s), config.New(s),
		methods.New(s), doctor.New(s), demo.New(s),
		versioncmd.New(s), man.New(s))
	return root
}
