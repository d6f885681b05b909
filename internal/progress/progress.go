// Package progress draws one line on a terminal that says how far a long run
// is, how fast it goes and when it should end.
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

// Line is a progress line. Its methods may be called from several goroutines.
// The line is redrawn in place with carriage returns and spaces only, so it
// needs no terminal escape sequences.
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

// New returns a line on w for a run of total steps; total <= 0 means that the
// number of steps is not known. When enabled is false nothing is ever written,
// and Left answers all the same: pass whether w is a terminal (see IsTerminal).
func New(w io.Writer, total int64, enabled bool) *Line {
	return newLine(w, total, enabled, time.Now, func() int { return columnsOf(w) })
}

func newLine(w io.Writer, total int64, enabled bool, now func() time.Time, columns func() int) *Line {
	return &Line{w: w, total: total, units: steps, enabled: enabled, now: now, columns: columns, started: now()}
}

// steps are the units of a line unless Of names others.
const steps = "steps"

// Of says that a run counts up to total units, such as "pictures", instead of
// steps. Without units the line shows the share alone, as suits bytes.
func (l *Line) Of(total int64, units string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total, l.units = total, units
}

// Update tells that done steps of the total are behind, and shows fields
// (such as "loss 0.0123") at the end of the line. The first call sets the
// point from which the speed is measured, so a resumed run and a slow first
// step do not distort it.
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

// Left estimates the time that the remaining steps take; ok is false while too
// few are behind to tell.
func (l *Line) Left() (left time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return state{done: l.done, total: l.total, pace: l.pace.rate(), finished: l.finished}.remaining()
}

// Println prints msg and a line break above the line. Nothing is printed when
// the line is not enabled: the caller has a log for that.
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

// draw replaces the line on the screen. One column stays free, because a
// character in the last one makes some terminals wrap.
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

// assumedColumns is the width taken where the terminal does not tell its own.
const assumedColumns = 80

func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n := terminalColumns(f); n > 0 {
			return n
		}
	}
	return assumedColumns
}
