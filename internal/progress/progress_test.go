package progress

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gritvq/gritvq/internal/textwidth"
)

// bench is a line on a buffer with a clock and a width the test sets.
type bench struct {
	*Line
	out     bytes.Buffer
	time    time.Time
	columns int
}

func newBench(total int64, enabled bool) *bench {
	b := &bench{time: time.Unix(1000, 0), columns: 100}
	b.Line = newLine(&b.out, total, enabled, func() time.Time { return b.time }, func() int { return b.columns })
	return b
}

func (b *bench) wait(d time.Duration) { b.time = b.time.Add(d) }

// screen plays the output as a terminal would and returns its lines.
func (b *bench) screen() []string {
	var lines []string
	for _, line := range strings.Split(b.out.String(), "\n") {
		var cells []rune
		at := 0
		for _, r := range line {
			if r == '\r' {
				at = 0
				continue
			}
			if at == len(cells) {
				cells = append(cells, r)
			} else {
				cells[at] = r
			}
			at++
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return lines
}

func TestShowsBarSpeedAndTimes(t *testing.T) {
	b := newBench(200, true)
	b.columns = 88           // room for a bar of 24 cells
	b.wait(20 * time.Second) // a slow first step is no part of the speed
	b.Update(0, "")
	for step := int64(1); step <= 50; step++ {
		b.wait(100 * time.Millisecond)
		b.Update(step, fmt.Sprintf("loss %.2f", 1/float64(step)))
	}
	want := " 25% [=====>                  ] 50/200  10.0 steps/s  0:25 elapsed  ETA 0:15  loss 0.02"
	if got := b.screen()[0]; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestResumedRunMeasuresItsOwnSpeed(t *testing.T) {
	b := newBench(10000, true)
	b.wait(time.Second)
	b.Update(9000, "")
	b.wait(time.Second)
	b.Update(9010, "")
	if got := b.screen()[0]; !strings.Contains(got, "10.0 steps/s") || !strings.Contains(got, "ETA 1:39") {
		t.Errorf("got %q, want 10.0 steps/s and ETA 1:39", got)
	}
}

func TestSpeedFollowsAChangeSmoothly(t *testing.T) {
	var s speedometer
	at, done := time.Unix(0, 0), int64(0)
	run := func(seconds int, perSecond int64) {
		for range seconds {
			s.observe(at, done)
			at, done = at.Add(time.Second), done+perSecond
		}
	}
	run(60, 100)
	if r := s.rate(); r < 99.9 || r > 100.1 {
		t.Fatalf("steady rate %.2f, want 100", r)
	}
	run(3, 10) // the first of these intervals still ran at 100
	if r := s.rate(); r < 75 || r > 95 {
		t.Errorf("rate %.1f two seconds after a drop to 10; one interval should not decide", r)
	}
	run(60, 10)
	if r := s.rate(); r < 10 || r > 13 {
		t.Errorf("rate %.1f a minute after the drop, want about 10", r)
	}
}

// A slow start, with or without a terminal, is soon no part of the time left;
// evaluations, which come again, are.
func TestTimeLeftForgetsASlowStartAndKeepsEvaluations(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		b := newBench(1000, enabled)
		b.Update(0, "compiling")
		b.wait(time.Minute)
		b.Update(1, "")
		if left, ok := b.Left(); ok {
			t.Errorf("after one step %v are left", left)
		}
		for step := int64(2); step <= 10; step++ {
			b.wait(time.Second)
			b.Update(step, "")
		}
		if left, ok := b.Left(); !ok || left != 990*time.Second {
			t.Errorf("after a slow start %v are left, want 990 s", left)
		}
		for step := int64(11); step <= 500; step++ {
			b.wait(time.Second)
			if step%10 == 0 {
				b.Update(step, "evaluating")
				b.wait(10 * time.Second)
			}
			b.Update(step, "")
		}
		if left, _ := b.Left(); left < 950*time.Second || left > 1050*time.Second {
			t.Errorf("with evaluations %v are left, want about 1000 s", left)
		}
	}
}

func TestPaceThinsWhatItRemembers(t *testing.T) {
	var p pace
	at := time.Unix(0, 0)
	for step := range int64(10000) {
		p.observe(at, step)
		at = at.Add(time.Second / 4)
	}
	if r := p.rate(); r != 4 || len(p.points) > mostPoints {
		t.Errorf("rate %v of %d points, want 4 of at most %d", r, len(p.points), mostPoints)
	}
	p.observe(at, 5)
	if r := p.rate(); r != 0 {
		t.Errorf("after a step back the rate is %v, want unknown", r)
	}
}

func TestRedrawsAtMostTenTimesASecond(t *testing.T) {
	b := newBench(100000, true)
	for step := int64(0); step < 3000; step++ {
		b.Update(step, "")
		b.wait(time.Millisecond)
	}
	if n := strings.Count(b.out.String(), "\r"); n != 30 {
		t.Errorf("drawn %d times in 3 s, want 30", n)
	}
}

func TestNeverWiderThanTheTerminal(t *testing.T) {
	for columns := 1; columns <= 130; columns++ {
		s := state{done: 37, total: 1000, units: steps, rate: 3, pace: 3, elapsed: time.Hour, fields: "loss 0.5 損失 e\u0301 utilization 99.2%"}
		if got := s.format(columns); textwidth.Of(got) > columns {
			t.Fatalf("%d columns: %q takes %d", columns, got, textwidth.Of(got))
		}
	}
	narrow := state{done: 37, total: 1000, units: steps, rate: 3}.format(30)
	if !strings.HasPrefix(narrow, "  3% 37/1000  3.0 steps/s") || !strings.HasSuffix(narrow, "…") {
		t.Errorf("narrow line %q keeps the wrong things", narrow)
	}
}

func TestShorterLineLeavesNoRest(t *testing.T) {
	b := newBench(10, true)
	b.Update(1, "a long tail of fields")
	b.wait(time.Second)
	b.Update(2, "x")
	if got := b.screen()[0]; strings.Contains(got, "fields") || !strings.HasSuffix(got, "x") {
		t.Errorf("screen shows %q", got)
	}
}

func TestPrintlnGoesAboveTheLine(t *testing.T) {
	b := newBench(10, true)
	b.Println("starting")
	b.Update(1, "")
	b.Println("checkpoint saved\n")
	b.wait(time.Second)
	b.Update(10, "")
	b.Done()
	b.Done()
	b.Update(11, "")
	b.Println("end")
	got := b.screen()
	if len(got) != 5 || got[0] != "starting" || got[1] != "checkpoint saved" ||
		!strings.HasPrefix(got[2], "100% [============================] 10/10") || got[3] != "end" || got[4] != "" {
		t.Errorf("screen:\n%s", strings.Join(got, "\n"))
	}
	if strings.Contains(got[2], "ETA") {
		t.Errorf("a finished line still has an ETA: %q", got[2])
	}
}

func TestDoneDrawsTheLastStateThatWasSkipped(t *testing.T) {
	b := newBench(100, true)
	b.Update(1, "")
	b.Update(100, "final")
	b.Done()
	if got := b.screen()[0]; !strings.Contains(got, "100/100") || !strings.HasSuffix(got, "final") {
		t.Errorf("last line %q", got)
	}
}

func TestDisabledWritesNothing(t *testing.T) {
	b := newBench(10, false)
	b.Update(5, "x")
	b.Println("message")
	b.Done()
	if b.out.Len() != 0 {
		t.Errorf("wrote %q", b.out.String())
	}
}

func TestUnknownTotalAndOverrun(t *testing.T) {
	if got := (state{done: 7, units: steps, elapsed: time.Second}).format(80); got != "7 steps  0:01 elapsed" {
		t.Errorf("unknown total: %q", got)
	}
	if got := (state{done: 12, total: 10, pace: 1}).format(80); !strings.HasPrefix(got, "100% [====") || !strings.Contains(got, "ETA 0:00") {
		t.Errorf("overrun: %q", got)
	}
	if got := (state{done: 1, total: 1 << 62, pace: 1e-9}).format(80); strings.Contains(got, "ETA") {
		t.Errorf("absurd ETA: %q", got)
	}
}

func TestClockAndRate(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 59400 * time.Millisecond: "0:59", 59600 * time.Millisecond: "1:00",
		time.Hour + 2*time.Second: "1:00:02", 49*time.Hour + time.Minute: "2d 01:01:00",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
	for rate, want := range map[float64]string{0: "", 1234.4: "1234 steps/s", 12.34: "12.3 steps/s", 0.25: "4.0 s/step"} {
		if got := formatRate(rate, steps); got != want {
			t.Errorf("formatRate(%v) = %q, want %q", rate, got, want)
		}
	}
}

// Lines say what they count, or the share alone.
func TestLineCountsOtherThings(t *testing.T) {
	b := newBench(0, true)
	b.Of(4000, "users")
	for i := range int64(5) {
		b.Update(1000*i, "scored")
		b.wait(2 * time.Second)
	}
	if got, want := b.screen()[0], "100% [============================] 4000/4000  500 users/s  0:08 elapsed  ETA 0:00  scored"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := formatRate(0.25, "pictures"); got != "0.25 pictures/s" {
		t.Errorf("a slow rate of pictures is %q", got)
	}
	bytes := newBench(0, true)
	bytes.Of(3<<20, "")
	bytes.Update(0, "")
	bytes.wait(time.Second)
	bytes.Update(1<<20, "of photos.tar read")
	if got, want := bytes.screen()[0], " 33% [========>                   ] 0:01 elapsed  ETA 0:02  of photos.tar read"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	at := time.Unix(0, 0)
	var out bytes.Buffer
	l := newLine(&out, 1000, true, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(20 * time.Millisecond)
		return at
	}, func() int { return 80 })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(100) {
				l.Update(i, "x")
				l.Println("message")
			}
		})
	}
	wg.Wait()
	l.Done()
	if n := strings.Count(out.String(), "message\n"); n != 400 {
		t.Errorf("%d whole messages, want 400", n)
	}
}

func TestFilesAndPipesAreNoTerminals(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, f := range []*os.File{file, null, r, w} {
		if IsTerminal(f) {
			t.Errorf("%s is taken for a terminal", f.Name())
		}
	}
	if n := columnsOf(file); n != assumedColumns {
		t.Errorf("a file has %d columns", n)
	}
}
