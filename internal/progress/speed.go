package progress

import (
	"math"
	"time"
)

// memory is the time constant of the smoothing: a speed this long ago counts 1/e
// of the present one.
const memory = 15 * time.Second

// sampleEvery is the shortest interval a speed is measured over; shorter ones
// are joined, as the clock's jitter would dominate them.
const sampleEvery = 50 * time.Millisecond

// speedometer estimates steps a second as an exponentially weighted mean over
// time. Dividing by the total weight removes the bias towards the start value.
type speedometer struct {
	at     time.Time
	done   int64
	steps  float64 // weighted sum of rate
	weight float64
}

func (s *speedometer) observe(now time.Time, done int64) {
	if s.at.IsZero() || done < s.done {
		*s = speedometer{at: now, done: done}
		return
	}
	interval := now.Sub(s.at)
	if interval < sampleEvery {
		return
	}
	keep := math.Exp(-interval.Seconds() / memory.Seconds())
	rate := float64(done-s.done) / interval.Seconds()
	s.steps = keep*s.steps + (1-keep)*rate
	s.weight = keep*s.weight + (1 - keep)
	s.at, s.done = now, done
}

// rate returns steps a second, or 0 while it is not known.
func (s *speedometer) rate() float64 {
	if s.weight == 0 {
		return 0
	}
	return s.steps / s.weight
}
