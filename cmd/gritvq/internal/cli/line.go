package cli

import (
	"fmt"
	"time"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// logEvery is the time between lines about steps where Err is not a terminal.
const logEvery = 10 * time.Second

// line is a progress line: redrawn in place on a terminal. Elsewhere training
// steps are logged every few seconds and other units are not.
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

// Update shows how many units are done.
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

// Status shows the work before the next unit.
func (l *line) Status(text string) { l.Line.Update(l.at, text+" …") }

// Log prints a text unless Err is a terminal.
func (l *line) Log(text string) {
	if !l.s.Terminal {
		l.s.Remark("%s", text)
	}
}

// Done ends the line.
func (l *line) Done() {
	l.s.show(nil)
	l.Line.Done()
}
