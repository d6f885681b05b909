// Package cli is shared by gritvq's commands: streams, flags, errors and exit codes.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// Streams takes results in Out, progress and remarks in Err. It is the [task.Watcher] of workflows.
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

// logEvery is the time between lines about steps where Err is not a terminal.
const logEvery = 10 * time.Second

// line is redrawn in place on a terminal. Elsewhere training steps are logged and other units are not.
type line struct {
	*progress.Line
	s      *Streams
	total  int
	steps  bool
	at     int64
	logged time.Time
}

// Line starts a progress line for total units, such as "rows".
func (s *Streams) Line(total int, units string) task.Line {
	l := &line{Line: progress.New(s.Err, int64(total), s.Terminal), s: s, total: total, steps: units == task.Steps, logged: time.Now()}
	l.Of(int64(total), units)
	s.show(l.Line)
	return l
}

func (s *Streams) show(l *progress.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = l
}

func (l *line) Of(total int64, units string) {
	l.total = int(total)
	l.Line.Of(total, units)
}

func (l *line) Update(done int64, text string) {
	l.at = done
	l.Line.Update(done, text)
	now := time.Now()
	if !l.steps || l.s.Terminal || now.Sub(l.logged) < logEvery {
		return
	}
	l.logged = now
	if left, ok := l.Left(); ok {
		text += "  ETA " + report.Duration(left.Round(time.Second))
	}
	l.Log(fmt.Sprintf("step %d/%d  %s", done, l.total, text))
}

func (l *line) Status(text string) { l.Line.Update(l.at, text+" …") }

// Log prints a text unless Err is a terminal.
func (l *line) Log(text string) {
	if !l.s.Terminal {
		l.s.Remark("%s", text)
	}
}

func (l *line) Done() {
	l.s.show(nil)
	l.Line.Done()
}
