package progress

import (
	"math"
	"time"
)

// memory is the time constant of the smoothing.
const memory = 15 * time.Second

// sampleEvery joins shorter intervals, which the clock's jitter would dominate.
const sampleEvery = 50 * time.Millisecond

// speedometer is an exponentially weighted mean over time. Dividing by the weight removes the bias to the start.
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

const (
	// fewestSteps are measured first: the first of a run compile programs and fill caches.
	fewestSteps = 4
	// mostPoints bounds the memory of a pace.
	mostPoints = 512
)

// pace is the speed of the later half of the steps: it forgets the slow start and counts evaluations, at which the
// speedometer jumps.
type pace struct {
	points []point // in the order of steps
}

type point struct {
	at   time.Time
	done int64
}

func (p *pace) observe(now time.Time, done int64) {
	if n := len(p.points); n > 0 && done <= p.points[n-1].done {
		if done < p.points[n-1].done {
			p.points = append(p.points[:0], point{now, done})
		}
		return
	}
	p.points = append(p.points, point{now, done})
	if len(p.points) > mostPoints {
		kept := p.points[:0]
		for i := 0; i < len(p.points); i += 2 {
			kept = append(kept, p.points[i])
		}
		p.points = kept
	}
}

// rate returns steps a second, or 0 while it is not known.
func (p *pace) rate() float64 {
	if len(p.points) < 2 {
		return 0
	}
	first, last := p.points[0].done, p.points[len(p.points)-1]
	if last.done-first < fewestSteps {
		return 0
	}
	from := p.points[0]
	for _, p := range p.points {
		if p.done <= first+(last.done-first)/2 {
			from = p
		}
	}
	seconds := last.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.done-from.done) / seconds
}
