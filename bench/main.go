// Command bench runs the experiments behind results/: speed against peers, errors of vectors, rate and distortion of
// picture files, generation of pictures, and the tables of picture and recommendation runs.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gritvq/gritvq/lab/rate"
	"github.com/gritvq/gritvq/lab/speed"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/lab/table/pictures"
	"github.com/gritvq/gritvq/lab/vectors"
	"github.com/gritvq/gritvq/task"
)

const help = `usage: go run ./bench COMMAND [FLAGS] [ARGUMENTS]

  speed                            ratios to PyTorch and FAISS in one table; peers that are not installed are left out
  step SCENARIO                    cost of one training step, such as pictures-grit-linear -backend xla:PLUGIN
  prior                            training a prior over codes and drawing from it, beside PyTorch in turn
  generation                       runs the experiments of a list of jobs, and makes the page of their records
  vectors                          errors of vectors on held-out rows beside FAISS; cells that have a record are skipped
  rate [PICTURES TOKENIZER...]     rate and distortion of picture files beside JPEG and WebP; without pictures the
                                   page is made again from its points
  codec [PICTURES TOKENIZER PRIOR] bits of the codes of pictures with the tokenizer's own model and with a prior
  pictures RUNS.jsonl...           tables and figures of picture runs, added to those in the output directory
  recommendation RUNS.jsonl...     the same of recommendation runs, tested user by user; -jobs runs a list of them

bench COMMAND -h lists the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := map[string]func(context.Context, *flag.FlagSet, []string) error{
		"speed": runSpeed, "step": runStep, "vectors": runVectors, "rate": runRate, "codec": runCodec, "prior": runPrior,
		"generation": runGeneration,
		"cell":       runCell, "pictures": runPictures, "recommendation": runRecommendation,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, help)
		os.Exit(2)
	}
	err := commands[os.Args[1]](ctx, flag.NewFlagSet("bench "+os.Args[1], flag.ExitOnError), os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// stderr prints remarks, each after a prefix.
type stderr struct {
	task.Silent
	prefix string
}

func (s stderr) Remark(format string, args ...any) {
	fmt.Fprintln(os.Stderr, s.prefix+fmt.Sprintf(format, args...))
}

func runSpeed(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var o speed.Options
	flags.StringVar(&o.Only, "only", "", "one `group`: step, overhead, nearest, encode, fit or conv")
	flags.StringVar(&o.Python, "python", "/usr/bin/python3", "interpreter that has torch and faiss")
	flags.IntVar(&o.Rounds, "rounds", 3, "times every measurement is repeated; the best counts on both sides")
	asJSON := flags.Bool("json", false, "print JSON")
	arguments(flags, args)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Scenario = []string{self, "step"}
	results, err := speed.Run(ctx, o, stderr{})
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(results)
	}
	fmt.Printf("%s, %d cores, %s, nearest-code kernel %s, best of %d rounds\n\n",
		results.CPU, results.Cores, results.Go, results.Index, o.Rounds)
	return results.Table().Text(os.Stdout)
}

func runStep(ctx context.Context, flags *flag.FlagSet, args []string) error {
	backend := flags.String("backend", "go", "engine of picture scenarios, such as xla:PLUGIN")
	steps := flags.Int("steps", 60, "steps of a picture scenario")
	var settings []string
	flags.Func("set", "one setting of a picture scenario (repeatable)", func(s string) error { settings = append(settings, s); return nil })
	given := arguments(flags, args)
	if len(given) != 1 {
		return errors.New("name one scenario, such as ste or pictures-ste")
	}
	cost, err := speed.Step(ctx, given[0], *backend, *steps, settings)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

//go:embed torch_prior.py
var torchPrior []byte

func runPrior(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := speed.PriorOptions{Script: torchPrior}
	commitFlag(ctx, flags, &o.Commit)
	flags.StringVar(&o.Backend, "backend", "go", "engine, such as xla:PLUGIN, with which the sizes for a GPU are measured")
	flags.StringVar(&o.Python, "python", "/usr/bin/python3", "interpreter that has torch")
	flags.IntVar(&o.Rounds, "rounds", 3, "ours and the peer in turn; 0 makes the page again from its records")
	flags.IntVar(&o.Steps, "steps", 8, "training steps of a round")
	flags.IntVar(&o.Threads, "threads", 0, "threads of both sides (0: all cores)")
	flags.StringVar(&o.Note, "note", "", "what the record says about the machine, such as other work on it")
	flags.StringVar(&o.Output, "out", "results", "`directory` of the page and its records")
	if given := arguments(flags, args); len(given) > 0 {
		return fmt.Errorf("unexpected argument %q", given[0])
	}
	return speed.Prior(ctx, o, stderr{})
}

func runVectors(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := vectors.Options{Sets: vectors.SetNames(), Methods: vectors.Methods(), Sizes: []string{"4x256", "8x256"},
		Command: "go run ./bench vectors"}
	list := func(values *[]string) func(string) error {
		return func(s string) error { *values = strings.Split(s, ","); return nil }
	}
	flags.Func("sets", "data sets, `NAME,NAME`: "+strings.Join(o.Sets, ", ")+" (all)", list(&o.Sets))
	flags.Func("methods", "`NAME,NAME`: any of gritvq methods, or FAISS's ("+strings.Join(o.Methods, ",")+")", list(&o.Methods))
	flags.Func("sizes", "`LEVELSxCODES,...` (4x256,8x256)", list(&o.Sizes))
	flags.StringVar(&o.Data, "data", os.Getenv("GRITVQ_DATA"), "`directory` of the data sets; GRITVQ_DATA by default")
	flags.StringVar(&o.Python, "python", "build/faiss/bin/python", "interpreter that has FAISS; make faiss installs it")
	flags.StringVar(&o.Output, "out", "results", "`directory` of the page and its records")
	flags.IntVar(&o.Seeds, "seeds", 3, "seeds of every cell; 0 makes the page again from its records")
	flags.Uint64Var(&o.First, "first", 1, "the first seed")
	flags.DurationVar(&o.Limit, "limit", 30*time.Minute, "time that a cell may take")
	if given := arguments(flags, args); len(given) > 0 {
		return fmt.Errorf("unexpected argument %q", given[0])
	}
	return vectors.Run(ctx, o, stderr{})
}

func runRate(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var o rate.Options
	flags.StringVar(&o.Backend, "backend", "go", "engine, such as xla:PLUGIN")
	flags.StringVar(&o.Metrics, "metrics", "", "`directory` of the LPIPS network")
	flags.StringVar(&o.Output, "out", "results", "`directory` of the page")
	given := arguments(flags, args)
	if len(given) == 0 {
		return rate.Write(o.Output)
	}
	o.Pictures, o.Tokenizers = given[0], given[1:]
	return rate.Run(ctx, o, stderr{})
}

func runCodec(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var o rate.CodecOptions
	commitFlag(ctx, flags, &o.Commit)
	flags.StringVar(&o.Name, "name", "", "of the pictures, in the table")
	flags.StringVar(&o.Note, "note", "", "how tokenizer and prior were trained")
	flags.IntVar(&o.Most, "most", 0, "pictures, the first of the set (all)")
	flags.StringVar(&o.Backend, "backend", "go", "engine of the tokenizer, such as xla:PLUGIN")
	flags.StringVar(&o.Output, "out", "results", "`directory` of the page")
	switch given := arguments(flags, args); len(given) {
	case 0:
	case 3:
		o.Pictures, o.Tokenizer, o.Prior = given[0], given[1], given[2]
		o.Name = cmp.Or(o.Name, filepath.Base(o.Pictures))
	default:
		return errors.New("name pictures, a tokenizer and a prior of its codes, or none of them")
	}
	return rate.Codec(ctx, o, stderr{})
}

func runPictures(_ context.Context, flags *flag.FlagSet, args []string) error {
	out := flags.String("out", "results", "`directory` of the page")
	files := arguments(flags, args)
	return pictures.Document.Write(files, *out, stderr{})
}

// commitFlag is for programs that run where their code was not checked out.
func commitFlag(ctx context.Context, flags *flag.FlagSet, commit *string) {
	flags.StringVar(commit, "commit", table.Commit(ctx), "`commit` of this program that records name")
}

// arguments parses flags before, between and behind arguments. Wrong flags end the program.
func arguments(flags *flag.FlagSet, line []string) []string {
	var given []string
	for {
		_ = flags.Parse(line) // it exits on errors
		if flags.NArg() == 0 {
			return given
		}
		given, line = append(given, flags.Arg(0)), flags.Args()[1:]
	}
}
