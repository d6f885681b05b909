package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/interrupt"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130 // by SIGINT
	ExitTerminated  = 143 // by SIGTERM
)

// notable is a size of the process that is told before it is reached.
const notable = 2 << 30

// Execute runs one command line and returns the exit code.
func Execute(args []string, s *Streams, newRoot func(*Streams) *cobra.Command) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := interrupt.Listen(func() { cancel(nil) }, s.Remark)
	defer signals.Stop()
	if !engine.SIMD && runtime.GOARCH == "amd64" { // other CPUs have no vector kernels
		s.Remark("gritvq: this build has no vector kernels and is much slower than it could be; " +
			"gritvq doctor --rebuild builds the right one")
	}
	s.Command = commandLine(args)
	out := &resultWriter{to: s.Out}
	s.Out = out
	debugging, root := false, newRoot(s)
	root.PersistentFlags().BoolVar(&debugging, "debug", false, "print stack traces of failures, and plans of memory")
	root.SetArgs(args)
	memory.Limit()
	memory.Announce(func(what string, bytes int64) {
		if debugging || bytes >= notable {
			s.Remark("gritvq: %s: up to %s of memory in all", what, memory.Text(float64(bytes)))
		}
	})
	defer memory.Watch(cancel)()
	err := memory.CheckStart()
	if err == nil {
		err = withoutPanic(func() error { return root.ExecuteContext(ctx) })
	}
	switch cause := context.Cause(ctx); {
	case err == nil || ctx.Err() == nil:
	case errors.Is(cause, memory.ErrFull) && errors.Is(err, train.ErrInterrupted):
		err = fmt.Errorf("%w (%v)", cause, err) // it says how to continue
	case errors.Is(cause, memory.ErrFull):
		err = cause
	case errors.Is(err, context.Canceled) && !errors.Is(err, train.ErrInterrupted):
		err = train.ErrInterrupted
	}
	if err == nil && out.failed != nil {
		err = fmt.Errorf("cannot write the result to stdout: %w", out.failed)
	}
	code := explain(s, err, debugging)
	if code == ExitInterrupted {
		code = max(code, signals.ExitCode())
	}
	return code
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
	defer memory.Catch(&err)
	return run()
}

// explain prints one sentence and returns the exit code; only --debug shows the traces of engine errors.
func explain(s *Streams, err error, debugging bool) int {
	if err == nil {
		return ExitOK
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
	if _, misused := errors.AsType[usage.Error](err); misused {
		return ExitUsage
	}
	if errors.Is(err, train.ErrInterrupted) {
		return ExitInterrupted
	}
	return ExitFailed
}

// commandLine is the command that repeats a run, quoted for a shell.
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
