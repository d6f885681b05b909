package cli

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

// interrupts ends a command at SIGINT and SIGTERM: the first one ends the context, so that the step in progress is
// finished and saved. A second one in quick succession is ignored, any further one and the end of the grace period
// leave at once.
type interrupts struct {
	cancel func()
	say    func(format string, args ...any)
	exit   func(code int)
	status atomic.Int32 // exit code of the first signal; 0 before
}

// listen starts to watch the signals of the process.
func (i *interrupts) listen() (stop func()) {
	arrived := make(chan os.Signal, 8)
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	go i.watch(arrived)
	return func() {
		signal.Stop(arrived)
		close(arrived)
	}
}

func (i *interrupts) watch(arrived <-chan os.Signal) {
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
		i.exit(int(i.status.Load()))
	}
}

// exitCode is what shells report of a process that a signal ended.
func exitCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return ExitTerminated
	}
	return ExitInterrupted
}

func signalName(s os.Signal) string {
	if s == syscall.SIGTERM {
		return "SIGTERM"
	}
	return "SIGINT"
}
