package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// execute runs one command line and returns the exit code.
func execute(args []string, s *streams) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer watchSignals(cancel)()
	warnWithoutSIMD(s)
	s.command = commandLine(args)
	out := &resultWriter{to: s.out}
	s.out = out
	debugging := false
	root := newRootCommand(s)
	root.PersistentFlags().BoolVar(&debugging, "debug", false, "print stack traces of failures")
	root.SetArgs(args)
	err := withoutPanic(func() error { return root.ExecuteContext(ctx) })
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && !errors.Is(err, vqtrain.ErrInterrupted) {
		err = vqtrain.ErrInterrupted
	}
	if err == nil && out.failed != nil {
		err = fmt.Errorf("cannot write the result to stdout: %w", out.failed)
	}
	return explain(s, err, debugging)
}

// panicError is a panic of engine or program code, with its trace.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("internal failure: %v", e.cause) }

// withoutPanic turns a panic into an error: graph code reports misuse that way.
func withoutPanic(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return run()
}

// explain prints an error as one sentence and returns the exit code. Engine
// errors carry traces, which only --debug shows.
func explain(s *streams, err error, debugging bool) int {
	if err == nil {
		return exitOK
	}
	text := err.Error()
	panicked, isPanic := errors.AsType[*panicError](err)
	first, _, more := strings.Cut(text, "\n")
	switch {
	case debugging && isPanic:
		text += "\n" + string(panicked.stack)
	case debugging:
		text = fmt.Sprintf("%+v", err)
	case more || isPanic:
		text = strings.TrimRight(first, ":; ") + " (--debug shows where)"
	}
	s.Remark("gritvq: %s", text)
	if _, usage := errors.AsType[usage.Error](err); usage {
		return exitUsage
	}
	if errors.Is(err, vqtrain.ErrInterrupted) {
		return exitInterrupted
	}
	return exitFailed
}

// watchSignals cancels at the first SIGINT or SIGTERM and exits at the second.
func watchSignals(cancel func()) (stop func()) {
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	go func() {
		for first := true; ; first = false {
			if _, ok := <-arrived; !ok {
				return
			}
			if !first {
				os.Exit(exitInterrupted)
			}
			cancel()
		}
	}()
	return func() {
		signal.Stop(arrived)
		close(arrived)
	}
}

func newRootCommand(s *streams) *cobra.Command {
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
		Version:               version(),
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetOut(s.out)
	root.SetVersionTemplate(versionLine() + "\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetErr(s.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable .HasParent}}", 1))
	cobra.EnableCommandSorting = false // the order below is that of use
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newTrainCommand(s, runTrain), newEncodeCommand(s, runEncode), newDecodeCommand(s, runDecode),
		newEvalCommand(s, runEval), newGridCommand(s, runGrid), newCompareCommand(s, runCompare), newIDsCommand(s, idsCommands{runIDs, runIDsAdd, runIDsShow}),
		newRecommendCommand(s, recommendCommands{runRecommendTrain, runRecommendEval, runRecommendAsk, runSignificance}),
		newRetrieveCommand(s, retrieveCommands{runRetrieveTrain, runRetrieveEval, runRetrieveAsk}), newInspectCommand(s, runInspect), newConfigCommand(s, runConfig),
		newMethodsCommand(s, runMethods), newDoctorCommand(s, runDoctor), newDemoCommand(s, runDemo),
		newVersionCommand(s, runVersion))
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := config.Nearest(name, names); near != "" {
		return usage.Errorf("unknown command %q: did you mean %q?", name, near)
	}
	return usage.Errorf("unknown command %q: the commands are %s", name, strings.Join(names, ", "))
}

// flagError turns the parser's complaint into a usage error with a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && len(missing.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return usage.Errorf("unknown flag --%s: did you mean --%s?", missing.GetSpecifiedName(), near)
		}
		return usage.Errorf("unknown flag --%s: %s --help lists the flags", missing.GetSpecifiedName(), cmd.CommandPath())
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		wanted := map[string]string{"int": "a whole number", "uint64": "a whole number that is not negative", "float64": "a number", "bool": "true or false"}
		if kind := wanted[invalid.GetFlag().Value.Type()]; kind != "" {
			return usage.Errorf("--%s %s: expected %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	return usage.Error{Err: err}
}

// arguments requires exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage.Errorf("%s needs %s: %s", cmd.Name(), strings.Join(names[len(args):], " and "), synopsis(cmd))
		case len(args) > len(names):
			return usage.Errorf("%s does not take %q: %s", cmd.Name(), args[len(names)], synopsis(cmd))
		}
		return nil
	}
}

// synopsis is how a command is called, with those above it.
func synopsis(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}

// commandLine is the command that does the same again, quoted for a shell.
func commandLine(args []string) string {
	words := []string{"gritvq"}
	for _, a := range args {
		switch {
		case a == "--resume" || a == "--force" || a == "--json" || a == "--debug":
			continue
		case a == "" || strings.ContainsAny(a, " \t\n\"'\\$`*?[]{}()<>|&;#~!"):
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// outputFlag adds the required -o.
func outputFlag(cmd *cobra.Command, into *string, usage string) {
	cmd.Flags().StringVarP(into, "output", "o", "", usage)
}

// requireOutput reports a missing -o.
func requireOutput(path, example string) error {
	if path == "" {
		return usage.Errorf("no output was named: add -o %s", example)
	}
	return nil
}
