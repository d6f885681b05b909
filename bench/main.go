// Command bench measures gritvq against its peers and against itself and prints
// one table of ratios. Absolute times depend on the machine; the ratios of one
// run are what the project's claims rest on.
//
//	go run ./bench                 # everything; peers that are not installed are left out
//	go run ./bench -only step      # one group: step, overhead, nearest, encode, fit, conv
//	go run ./bench -json           # for results/
//	go run ./bench -rate kodak/ -metrics metrics -out rate tok-a tok-b   # rate and distortion of picture files beside JPEG and WebP
//	go run ./bench -tables lines.jsonl -out results     # tables and figures of picture runs, added to those in results/
//	go run ./bench -recommendation lines.jsonl -users users -out results   # the same of recommendation runs, tested user by user
//	go run -tags xla ./bench -child pictures-grit-linear -backend xla:PLUGIN   # a step at 256 px on a GPU
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/report"
)

// row is one line of the table: a ratio and the claim it is held against.
type row struct {
	Group  string  `json:"group"`
	Name   string  `json:"name"`
	Ours   string  `json:"ours"`
	Peer   string  `json:"peer"`
	Ratio  float64 `json:"ratio"`
	Claim  string  `json:"claim"`
	Holds  bool    `json:"holds"`
	Reason string  `json:"reason,omitempty"` // why there is no ratio
}

func main() {
	only := flag.String("only", "", "run one `group`: step, overhead, nearest, encode, fit or conv")
	asJSON := flag.Bool("json", false, "print JSON")
	python := flag.String("python", "/usr/bin/python3", "interpreter that has torch and faiss")
	rounds := flag.Int("rounds", 3, "times every measurement is repeated; the best counts on both sides")
	child := flag.String("child", "", "run one training `scenario` and print its step time and peak memory (used by the overhead group)")
	backend := flag.String("backend", "go", "engine of the picture scenarios, such as xla:PLUGIN")
	steps := flag.Int("steps", 60, "steps of a picture scenario")
	var settings []string
	flag.Func("set", "one setting of a picture scenario (repeatable)", func(s string) error { settings = append(settings, s); return nil })
	folder := flag.String("rate", "", "measure rate and distortion on the pictures of this `folder`, with the tokenizers given as arguments, beside JPEG and WebP")
	lines := flag.String("tables", "", "write the tables and figures of the picture runs in this `file` of JSON lines, and in those given as arguments")
	recommendation := flag.String("recommendation", "", "write the tables and figures of the recommendation runs in this `file` of JSON lines, and in those given as arguments")
	users := flag.String("users", "", "`directory` of the ranks of every user or query, ID.parquet of recommendation run ID, to test differences")
	metrics := flag.String("metrics", "", "`directory` of the network of LPIPS, for -rate")
	out := flag.String("out", "rate", "`directory` of the rate-distortion figures or of the tables")
	arguments := parseFlags(flag.CommandLine, os.Args[1:])
	if *lines != "" {
		if err := pictureTables(append([]string{*lines}, arguments...), *out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *recommendation != "" {
		if err := recommendationTables(append([]string{*recommendation}, arguments...), *users, *out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *folder != "" {
		if err := rateDistortion(context.Background(), *folder, arguments, *backend, *metrics, *out); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *child != "" {
		run := func() error { return runChild(*child) }
		if _, ok := pictureScenarios[*child]; ok || *child == "nearest-gpu" {
			run = func() error { return pictureChild(*child, *backend, *steps, settings) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx := context.Background()
	rivals := &peers{python: *python}
	groups := []struct {
		name string
		run  func(context.Context, *peers, int) ([]row, error)
	}{{"step", stepRows}, {"overhead", overheadRows}, {"nearest", nearestRows}, {"encode", encodeRows}, {"fit", fittingRows}, {"conv", convRows}}
	var rows []row
	for _, g := range groups {
		if *only != "" && *only != g.name {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", g.name)
		r, err := g.run(ctx, rivals, *rounds)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		for i := range r {
			r[i].Group = g.name
		}
		rows = append(rows, r...)
	}
	if *asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		err := encoder.Encode(map[string]any{
			"date": time.Now().UTC().Format(time.DateOnly), "cpu": cpuName(), "cores": runtime.NumCPU(),
			"go": runtime.Version(), "index": index.Level(), "rows": rows,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	table := report.Table{Columns: []report.Column{{Name: "what"}, {Name: "gritvq", Align: report.Right}, {Name: "peer", Align: report.Right},
		{Name: "ratio", Align: report.Right}, {Name: "claim"}, {Name: "holds"}}}
	for _, r := range rows {
		ratio, holds := report.Number(r.Ratio, 3), "yes"
		if !r.Holds {
			holds = "NO"
		}
		if r.Reason != "" {
			ratio, holds = "-", r.Reason
		}
		table.Rows = append(table.Rows, report.Cells(r.Name, r.Ours, r.Peer, ratio, r.Claim, holds))
	}
	fmt.Printf("%s, %d cores, %s, nearest-code kernel %s, best of %d rounds\n\n", cpuName(), runtime.NumCPU(), runtime.Version(), index.Level(), *rounds)
	if err := table.Text(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parseFlags parses flags that stand before, between or behind arguments, and
// returns these.
func parseFlags(flags *flag.FlagSet, line []string) []string {
	var arguments []string
	for {
		if err := flags.Parse(line); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		if flags.NArg() == 0 {
			return arguments
		}
		arguments, line = append(arguments, flags.Arg(0)), flags.Args()[1:]
	}
}

// cpuName is the processor's name, where the system tells.
func cpuName() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// peers runs the Python rivals, each script at most once.
type peers struct {
	python string
	cache  map[string]map[string]any
}

// run returns the JSON object a peer script prints, or why there is none.
func (p *peers) run(ctx context.Context, script string, args ...string) (map[string]any, error) {
	if result, ok := p.cache[script]; ok {
		return result, nil
	}
	command := exec.CommandContext(ctx, p.python, append([]string{script}, args...)...)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=2")
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("peer not installed (make bench-peers)")
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	if p.cache == nil {
		p.cache = map[string]map[string]any{}
	}
	p.cache[script] = result
	return result, nil
}

// atMost builds a row whose ratio ours/peer of times must not exceed limit.
func atMost(name string, ours, peer float64, limit float64) row {
	return row{Name: name, Ours: seconds(ours), Peer: seconds(peer), Ratio: ours / peer,
		Claim: fmt.Sprintf("<= %.3gx the time", limit), Holds: ours/peer <= limit}
}

// atLeast builds a row whose ratio ours/peer of rates must reach limit.
func atLeast(name string, ours, peer float64, limit float64) row {
	return row{Name: name, Ours: report.Short(ours, 3) + "/s", Peer: report.Short(peer, 3) + "/s", Ratio: ours / peer,
		Claim: fmt.Sprintf(">= %.3gx the rate", limit), Holds: ours/peer >= limit}
}

func seconds(s float64) string { return report.Duration(time.Duration(s * float64(time.Second))) }
