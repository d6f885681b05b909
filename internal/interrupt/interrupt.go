// Package interrupt ends a program at SIGINT and SIGTERM: in order at the first one, at once at others and after a minute.
package interrupt

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// repeated is the time in which a second signal is the same request: some programs, such as timeout, signal a process
	// and then its group.
	repeated = 2 * time.Second
	// grace is the time that work in progress has to end.
	grace = time.Minute
)

// Signals ends a program: the first signal ends the context, so that the step in progress is finished and saved. A second
// one in quick succession is ignored, any further one and the end of the grace period leave at once.
type Signals struct {
	cancel  func()
	say     func(format string, args ...any)
	exit    func(code int)
	arrived chan os.Signal
	status  atomic.Int32 // exit code of the first signal; 0 before
}

// Listen starts to watch the signals of the process.
func Listen(cancel func(), say func(format string, args ...any)) *Signals {
	i := &Signals{cancel: cancel, say: say, exit: os.Exit, arrived: make(chan os.Signal, 8)}
	signal.Notify(i.arrived, os.Interrupt, syscall.SIGTERM)
	go i.watch(i.arrived)
	return i
}

// Stop ends the watching.
func (i *Signals) Stop() {
	signal.Stop(i.arrived)
	close(i.arrived)
}

// ExitCode is that of a program which a signal ended: 130 or 143, and 0 before the first signal.
func (i *Signals) ExitCode() int { return int(i.status.Load()) }

func (i *Signals) watch(arrived <-chan os.Signal) {
	var begun time.Time
	var late <-chan time.Time
	for {
		select {
		case s, ok := <-arrived:
			switch {
			case !ok:
				return
			case late == nil:
				i.status.Store(int32(exitCode(s)))
				begun, late = time.Now(), time.After(grace)
				i.say("gritvq: %s: ending the work in progress, in %d seconds at most", signalName(s), int(grace.Seconds()))
				i.cancel()
				continue
			case time.Since(begun) < repeated:
				i.say("gritvq: %s again, ignored: the work in progress is ending; another signal ends it without saving", signalName(s))
				begun = time.Time{} // once
				continue
			}
			i.say("gritvq: %s: the work in progress was ended without saving", signalName(s))
		case <-late:
			i.say("gritvq: the work in progress did not end in %d seconds and was ended without saving", int(grace.Seconds()))
		}
		i.exit(i.ExitCode())
	}
}

// exitCode is what shells report of a process that a signal ended.
func exitCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return 143
	}
	return 130
}

func signalName(s os.Signal) string {
	if s == syscall.SIGTERM {
		return "SIGTERM"
	}
	return "SIGINT"
}
