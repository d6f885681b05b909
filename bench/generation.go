package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gritvq/gritvq/lab/generation"
	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table"
)

func placeFlags(flags *flag.FlagSet) *generation.Place {
	p := &generation.Place{Command: "bench " + strings.Join(os.Args[1:], " ")}
	flags.StringVar(&p.Data, "data", os.Getenv("GRITVQ_DATA"), "`directory` below which jobs name their pictures; GRITVQ_DATA by default")
	flags.StringVar(&p.Metrics, "metrics", os.Getenv("GRITVQ_METRICS"), "`directory` of metric networks; GRITVQ_METRICS by default")
	flags.StringVar(&p.Work, "work", "generation", "`directory` of models, samples and records")
	flags.StringVar(&p.Backend, "backend", "go", "engine, such as xla:PLUGIN")
	return p
}

func runGeneration(ctx context.Context, flags *flag.FlagSet, args []string) error {
	p := placeFlags(flags)
	var o jobs.Options
	var list jobFlags
	list.add(ctx, flags, &o)
	out := flags.String("out", "results", "`directory` of the page")
	records := arguments(flags, args) // of other calls
	if list.print {
		return printJobs(generation.Grid())
	}
	if list.file != "" {
		chosen, err := chooseJobs(list, generation.Grid())
		if err != nil {
			return err
		}
		if err := os.MkdirAll(p.Work, 0o755); err != nil {
			return err
		}
		own := filepath.Join(p.Work, "records.jsonl")
		o.Origin.Backend = p.Backend
		o.Origin.Command = "bench generation -jobs " + filepath.Base(list.file)
		measure := func(ctx context.Context, j generation.Job) (generation.Record, error) { return inProcess(ctx, j, p) }
		if err := generation.Run(ctx, chosen, own, o, measure, stderr{}); err != nil {
			return err
		}
		if _, err := os.Stat(own); err == nil {
			records = append(records, own)
		}
	}
	finished, err := table.ReadLines[generation.Record](filepath.Join(p.Work, "records.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // absent where the page is made again elsewhere
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	drawn, err := generation.Draw(ctx, finished, p.Work, *out)
	for _, path := range drawn {
		stderr{}.Remark("samples of all methods: %s", path)
	}
	return cmp.Or(err, generation.Document.Write(records, *out, stderr{}))
}

// inProcess runs a job in a process of its own: it can be ended, and gives its memory back.
func inProcess(ctx context.Context, j generation.Job, p *generation.Place) (r generation.Record, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	job, err := json.Marshal(j)
	if err != nil {
		return r, err
	}
	command := exec.CommandContext(ctx, self, "cell", "-data", p.Data, "-metrics", p.Metrics, "-work", p.Work, "-backend", p.Backend)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it saves its state
	command.WaitDelay = grace
	var problems bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(job), io.MultiWriter(&problems, os.Stderr)
	printed, err := command.Output()
	if err != nil {
		return r, reason(err, problems.String())
	}
	if err := json.Unmarshal(printed, &r); err != nil {
		return r, fmt.Errorf("the record of %s cannot be read: %w", j.ID, err)
	}
	return r, nil
}

// grace is the time that an interrupted job has to save its state.
const grace = 30 * time.Second

// reason is why a process ended: its own last sentence, or how it was ended and the first line of what it said about that.
func reason(err error, problems string) error {
	lines := strings.Split(strings.TrimSpace(problems), "\n")
	if own, found := strings.CutPrefix(lines[len(lines)-1], "bench: "); found {
		return errors.New(own)
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return fmt.Errorf("%w: %s", err, line)
		}
	}
	return err
}

// runCell runs the job on standard input and prints its record.
func runCell(ctx context.Context, flags *flag.FlagSet, args []string) error {
	p := placeFlags(flags)
	if given := arguments(flags, args); len(given) > 0 {
		return fmt.Errorf("unexpected argument %q", given[0])
	}
	var j generation.Job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return fmt.Errorf("the job cannot be read: %w", err)
	}
	r, err := generation.Measure(ctx, j, *p, stderr{prefix: j.ID + ": "})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
