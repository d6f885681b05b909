// Command bench runs the experiments behind results/: speed against peers, rate
// and distortion of picture files, and the tables of picture and recommendation
// runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/gritvq/gritvq/lab/rate"
	"github.com/gritvq/gritvq/lab/speed"
	"github.com/gritvq/gritvq/lab/table/pictures"
	"github.com/gritvq/gritvq/lab/table/recommendation"
	"github.com/gritvq/gritvq/task"
)

const help = `usage: go run ./bench COMMAND [FLAGS] [ARGUMENTS]

  speed                            ratios to PyTorch and FAISS in one table; peers that are not installed are left out
  step SCENARIO                    cost of one training step, such as pictures-grit-linear -backend xla:PLUGIN
  rate [PICTURES TOKENIZER...]     rate and distortion of picture files beside JPEG and WebP; without pictures the
                                   page is made again from its points
  pictures RUNS.jsonl...           tables and figures of picture runs, added to those in the output directory
  recommendation RUNS.jsonl...     the same of recommendation runs, tested user by user

bench COMMAND -h lists the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

// stderr shows remarks.
type stderr struct{ task.Silent }

func (stderr) Remark(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, help)
		return flag.ErrHelp
	}
	command := args[0]
	flags := flag.NewFlagSet("bench "+command, flag.ContinueOnError)
	parse := func() ([]string, error) { return arguments(flags, args[1:]) }
	output := func() *string { return flags.String("out", "results", "`directory` of the page") }
	switch command {
	case "speed":
		return runSpeed(ctx, flags, parse)
	case "step":
		return runStep(ctx, flags, parse)
	case "rate":
		o := rate.Options{}
		flags.StringVar(&o.Backend, "backend", "go", "engine, such as xla:PLUGIN")
		flags.StringVar(&o.Metrics, "metrics", "", "`directory` of the LPIPS network")
		out := output()
		given, err := parse()
		if err != nil {
			return err
		}
		if len(given) == 0 {
			return rate.Write(*out)
		}
		o.Pictures, o.Tokenizers, o.Output = given[0], given[1:], *out
		return rate.Run(ctx, o, stderr{})
	case "pictures":
		out := output()
		files, err := parse()
		if err != nil {
			return err
		}
		return pictures.Document.Write(files, *out, stderr{})
	case "recommendation":
		users := flags.String("users", "", "`directory` of the ranks of every user or query, ID.parquet of run ID, to test differences")
		out := output()
		files, err := parse()
		if err != nil {
			return err
		}
		return recommendation.Document(*users).Write(files, *out, stderr{})
	}
	fmt.Fprint(os.Stderr, help)
	return fmt.Errorf("unknown command %q", command)
}

func runSpeed(ctx context.Context, flags *flag.FlagSet, parse func() ([]string, error)) error {
	var o speed.Options
	flags.StringVar(&o.Only, "only", "", "one `group`: step, overhead, nearest, encode, fit or conv")
	flags.StringVar(&o.Python, "python", "/usr/bin/python3", "interpreter that has torch and faiss")
	flags.IntVar(&o.Rounds, "rounds", 3, "times every measurement is repeated; the best counts on both sides")
	asJSON := flags.Bool("json", false, "print JSON")
	if _, err := parse(); err != nil {
		return err
	}
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
		return printJSON(results)
	}
	fmt.Printf("%s, %d cores, %s, nearest-code kernel %s, best of %d rounds\n\n", results.CPU, results.Cores, results.Go, results.Index,
		o.Rounds)
	return results.Table().Text(os.Stdout)
}

func runStep(ctx context.Context, flags *flag.FlagSet, parse func() ([]string, error)) error {
	backend := flags.String("backend", "go", "engine of picture scenarios, such as xla:PLUGIN")
	steps := flags.Int("steps", 60, "steps of a picture scenario")
	var settings []string
	flags.Func("set", "one setting of a picture scenario (repeatable)", func(s string) error { settings = append(settings, s); return nil })
	given, err := parse()
	if err != nil {
		return err
	}
	if len(given) != 1 {
		return errors.New("name one scenario, such as ste or pictures-ste")
	}
	var cost any
	if speed.OnDevice(given[0]) {
		cost, err = speed.Device(ctx, given[0], *backend, *steps, settings)
	} else {
		cost, err = speed.Vectors(ctx, given[0])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

func printJSON(v any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// arguments parses flags before, between and behind arguments, and returns the
// arguments.
func arguments(flags *flag.FlagSet, line []string) ([]string, error) {
	var given []string
	for {
		if err := flags.Parse(line); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return given, nil
		}
		given, line = append(given, flags.Arg(0)), flags.Args()[1:]
	}
}
