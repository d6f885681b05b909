// Package progress draws one line on a terminal: how far a long run is, its speed and its expected end.
package progress

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gritvq/gritvq/internal/textwidth"
)

// redrawEvery bounds the drawing to ten lines a second.
const redrawEvery = 100 * time.Millisecond

// Line is a progress line, safe for concurrent use. It is redrawn with carriage returns, without escape sequences.
type Line struct {
	mu      sync.Mutex
	w       io.Writer
	total   int64
	units   string
	enabled bool
	now     func() time.Time
	columns func() int

	started  time.Time
	drawn    time.Time // when the line was last drawn
	width    int       // columns the line on the screen takes
	updated  bool
	done     int64
	fields   string
	speed    speedometer
	pace     pace
	finished bool
}

// New returns a line on w for a run of total steps, or of an unknown number if total <= 0. Unless enabled, which says that
// w is a terminal, nothing is written, but Left answers.
func New(w io.Writer, total int64, enabled bool) *Line {
	return newLine(w, total, enabled, time.Now, func() int { return columnsOf(w) })
}

func newLine(w io.Writer, total int64, enabled bool, now func() time.Time, columns func() int) *Line {
	return &Line{w: w, total: total, units: steps, enabled: enabled, now: now, columns: columns, started: now()}
}

// steps are the units of a line unless Of names others.
const steps = "steps"

// Of counts up to total units, such as "pictures", instead of steps. Without units, as of bytes, only the share is shown.
func (l *Line) Of(total int64, units string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total, l.units = total, units
}

// Update shows done steps and, at the end of the line, fields such as "loss 0.0123". The speed is measured from the first
// call, so a resumed run and a slow first step do not distort it.
func (l *Line) Update(done int64, fields string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	now := l.now()
	l.pace.observe(now, done)
	if !l.enabled {
		l.done = done
		return
	}
	l.done, l.fields, l.updated = done, textwidth.OneLine(fields), true
	l.speed.observe(now, done)
	if l.drawn.IsZero() || now.Sub(l.drawn) >= redrawEvery {
		l.draw(now)
	}
}

// Left estimates the time of the remaining steps; ok is false while too few are done.
func (l *Line) Left() (left time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return state{done: l.done, total: l.total, pace: l.pace.rate(), finished: l.finished}.remaining()
}

// Println prints msg above the line. It prints nothing if the line is not enabled.
func (l *Line) Println(msg string) {
	if !l.enabled {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	visible := l.width > 0
	l.erase()
	io.WriteString(l.w, strings.TrimRight(msg, "\n")+"\n")
	if visible && !l.finished {
		l.draw(l.now())
	}
}

// Done draws the last state and ends the line. Later calls do nothing.
func (l *Line) Done() {
	if !l.enabled {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	l.finished = true
	if !l.updated {
		return
	}
	l.draw(l.now())
	io.WriteString(l.w, "\n")
	l.width = 0
}

// draw leaves one column free: a character in the last one makes some terminals wrap.
func (l *Line) draw(now time.Time) {
	state := state{
		done: l.done, total: l.total, units: l.units, fields: l.fields,
		rate: l.speed.rate(), pace: l.pace.rate(), elapsed: now.Sub(l.started), finished: l.finished,
	}
	text := state.format(l.columns() - 1)
	width := textwidth.Of(text)
	padding := strings.Repeat(" ", max(0, l.width-width))
	io.WriteString(l.w, "\r"+text+padding)
	l.width, l.drawn = width, now
}

func (l *Line) erase() {
	if l.width > 0 {
		io.WriteString(l.w, "\r"+strings.Repeat(" ", l.width)+"\r")
		l.width = 0
	}
}

const assumedColumns = 80

func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n := terminalColumns(f); n > 0 {
			return n
		}
	}
	return assumedColumns
}
