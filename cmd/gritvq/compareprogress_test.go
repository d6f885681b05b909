package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/lab/table"
)

// The time left follows from this session's work alone.
func TestCompareProgressEstimatesFromThisSession(t *testing.T) {
	s, _, text := silent()
	p := newCompareProgress(s, compare.OfVectors, 4)
	cell := compare.Cell{Method: "ste", Point: compare.Point{Codes: 4, Levels: 1, Parts: 1}}
	p.step(cell, 100, 400)
	p.cell(cell, compare.Record{}, true)
	if text.Len() > 0 {
		t.Errorf("a run of an earlier session was logged: %s", text)
	}
	p.begun = time.Now().Add(-time.Minute) // for the hundred steps that follow
	p.step(cell, 200, 400)
	p.cell(cell, compare.Record{Scores: table.Scores{"relative_error": 0.25, "utilization": 1, "train_seconds": 59}}, false)
	p.step(cell, 300, 400)
	p.cell(cell, compare.Record{Error: "diverged"}, false)
	want := []string{"2/4  ste, 4, seed 0: error 0.25, 100.0% of codes used, trained in 59s, ETA 2m 00s", "3/4  ste, 4, seed 0: failed: diverged, ETA 30s"}
	if got := strings.Split(strings.TrimSpace(text.String()), "\n"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
