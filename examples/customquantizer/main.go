// Command customquantizer adds a quantizer to gritvq from outside its module and
// compares it with built-in ones. The quantizer is in quantizer.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "customquantizer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "customquantizer")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	results, err := compare.Run(ctx, compare.Options{
		Input:   tokenize.Input{Path: "synthetic:mixture?rows=2000"},
		Methods: []string{"grit", "ema", "scattered"},
		Settings: tokenize.Settings{Sets: []string{
			"model.dim=8", "model.hidden=32", "quantizer.codes=32", "quantizer.levels=2", "train.steps=150", "train.batch=256",
		}},
		Output: dir,
	}, task.Silent{})
	if err != nil {
		return err
	}
	if err := results.Kind.Table(results.Methods, false).Text(os.Stdout); err != nil {
		return err
	}
	return results.Err()
}
