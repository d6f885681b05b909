package network

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestExp(t *testing.T) {
	for x := -700.0; x < 700; x += 0.37 {
		got, want := Exp(x), math.Exp(x)
		if math.Abs(got-want) > want*max(4e-16, math.Abs(x)*0x1p-52) {
			t.Errorf("Exp(%g) = %g, want %g", x, got, want)
		}
	}
	for _, x := range []float64{math.Inf(-1), -800, 0, 800, math.Inf(1)} {
		if got, want := Exp(x), math.Exp(x); got != want {
			t.Errorf("Exp(%g) = %g, want %g", x, got, want)
		}
	}
	if !math.IsNaN(Exp(math.NaN())) {
		t.Error("the power of NaN is a number")
	}
}

// A second of powers, during which the goroutine is preempted, takes no longer for each
// of them than the first millisecond, within the noise of a shared machine.
func TestExpIsFastAfterPreemption(t *testing.T) {
	const most = 300 * time.Nanosecond // math.Exp took 1,000 to 6,000
	stop := make(chan struct{})
	for range 2 * runtime.GOMAXPROCS(0) { // others want the processors
		go func() {
			for x := 0.0; ; x++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	defer close(stop)
	best, sum := time.Hour, 0.0
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
		part := time.Now()
		for i := range 1000 {
			sum += Exp(-float64(i) / 100)
		}
		best = min(best, time.Since(part)/1000)
	}
	if best > most || sum <= 0 {
		t.Errorf("a power takes %s", best)
	}
}
