// Package cli is shared by gritvq's commands: streams, flags, errors and exit
// codes.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// Streams is where a command writes: results to Out, progress and remarks to
// Err. It is the [task.Watcher] of workflows.
type Streams struct {
	Out, Err io.Writer
	Terminal bool   // Err is a terminal
	Command  string // the command line, for reports

	mu    sync.Mutex
	shown *progress.Line // the line that remarks are printed above
}

var _ task.Watcher = (*Streams)(nil)

// System returns the streams of the process.
func System() *Streams {
	return &Streams{Out: os.Stdout, Err: os.Stderr, Terminal: progress.IsTerminal(os.Stderr)}
}

// Remark prints one line to Err.
func (s *Streams) Remark(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Terminal && s.shown != nil {
		s.shown.Println(fmt.Sprintf(format, args...))
		return
	}
	fmt.Fprintf(s.Err, format+"\n", args...)
}

// WriteJSON prints v as one indented JSON object to Out.
func (s *Streams) WriteJSON(v any) error {
	encoder := json.NewEncoder(s.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// WriteTables prints tables to Out, with an empty line between them.
func (s *Streams) WriteTables(tables []report.Table) error {
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		if err := t.Text(s.Out); err != nil {
			return err
		}
	}
	return nil
}

// resultWriter keeps the first error of writing results, such as a full disk.
type resultWriter struct {
	to     io.Writer
	failed error
}

func (w *resultWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return n, err
}
