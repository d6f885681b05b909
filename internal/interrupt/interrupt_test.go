package interrupt

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignals(t *testing.T) {
	const ending = "ending the work in progress"
	type event struct {
		after  time.Duration // since the event before
		signal os.Signal     // nil: just look
		said   string
		exit   int
	}
	for name, events := range map[string][]event{
		"one": {{0, syscall.SIGINT, "SIGINT: " + ending, 0}, {59 * time.Second, nil, "", 0},
			{2 * time.Second, nil, "did not end in 60 seconds", 130}},
		"twice": {{0, syscall.SIGTERM, "SIGTERM: " + ending, 0}, {time.Second, syscall.SIGTERM, "SIGTERM again, ignored", 0},
			{50 * time.Second, nil, "", 0}},
		"three times": {{0, os.Interrupt, ending, 0}, {0, os.Interrupt, "ignored", 0},
			{time.Second, os.Interrupt, "ended without saving", 130}},
		"twice, slowly": {{0, syscall.SIGTERM, ending, 0}, {3 * time.Second, os.Interrupt, "ended without saving", 143}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lock sync.Mutex // timers order nothing between goroutines
				var said []string
				cancelled, left := 0, 0
				locked := func(change func()) {
					lock.Lock()
					defer lock.Unlock()
					change()
				}
				i := &Signals{cancel: func() { locked(func() { cancelled++ }) }, exit: func(code int) { locked(func() { left = code }) },
					say: func(format string, args ...any) { locked(func() { said = append(said, fmt.Sprintf(format, args...)) }) }}
				arrived := make(chan os.Signal, 8)
				go i.watch(arrived)
				defer close(arrived)
				for n, e := range events {
					locked(func() { said = nil })
					time.Sleep(e.after)
					if e.signal != nil {
						arrived <- e.signal
					}
					synctest.Wait()
					lock.Lock()
					if text := strings.Join(said, "\n"); !strings.Contains(text, e.said) || (e.said == "") != (text == "") {
						t.Errorf("event %d: said %q, want %q", n, text, e.said)
					}
					if left != e.exit || cancelled != 1 {
						t.Errorf("event %d: left with %d, want %d; cancelled %d times", n, left, e.exit, cancelled)
					}
					lock.Unlock()
				}
			})
		})
	}
}
