package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/task"
)

// streams is where a command writes: results to out, progress and remarks to
// err.
type streams struct {
	out, err io.Writer
	terminal bool   // err is a terminal
	command  string // the command line, for reports
}

func systemStreams() *streams {
	return &streams{out: os.Stdout, err: os.Stderr, terminal: progress.IsTerminal(os.Stderr)}
}

// resultWriter remembers that a result could not be written, as on a full disk.
type resultWriter struct {
	to     io.Writer
	failed error // the first failure
}

func (w *resultWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return n, err
}

// Remark prints one line to err.
func (s *streams) Remark(format string, args ...any) {
	fmt.Fprintf(s.err, format+"\n", args...)
}

// line starts a progress line for total steps.
func (s *streams) line(total int) *progress.Line {
	return progress.New(s.err, int64(total), s.terminal)
}

// Line starts a progress line for total units, such as "rows".
func (s *streams) Line(total int, units string) task.Line {
	line := s.line(total)
	line.Of(int64(total), units)
	return line
}

// writeJSON prints v as one indented JSON object to out.
func (s *streams) writeJSON(v any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
