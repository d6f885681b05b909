package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// pretend runs cells that are measured by a function.
func pretend(dir string, measure func(ctx context.Context, cell Cell) (Record, error)) *runner {
	return &runner{subject: &subject{kind: OfVectors}, dir: dir, measure: measure, watch: task.Silent{}}
}

// watcher is told of steps and remarks.
type watcher struct {
	task.Silent
	step    func(done int)
	remarks []string
}

func (w *watcher) Remark(format string, args ...any) {
	w.remarks = append(w.remarks, fmt.Sprintf(format, args...))
}
func (w *watcher) Line(total int, units string) task.Line {
	return watchedLine{w.Silent.Line(total, units), w}
}

type watchedLine struct {
	task.Line
	w *watcher
}

func (l watchedLine) Update(done int64, _ string) {
	if l.w.step != nil {
		l.w.step(int(done))
	}
}

func fine(_ context.Context, cell Cell) (Record, error) {
	r := scored(cell.Method, cell.Point, cell.Config.Seed, 0.5)
	r.ID = cell.ID
	return r, nil
}

func TestFinishedCellsAreNeverRunAgain(t *testing.T) {
	dir := t.TempDir()
	cells := []Cell{newTestCell(t, "ste", 1, nil), newTestCell(t, "ema", 1, nil), newTestCell(t, "ste", 2, nil)}
	var runs atomic.Int64
	count := func(ctx context.Context, cell Cell) (Record, error) {
		runs.Add(1)
		if cell.Method == "ema" {
			return Record{}, errors.New("no luck\n\tat a line of code")
		}
		return fine(ctx, cell)
	}
	for attempt, want := range []int64{3, 1} { // the second time only failed runs
		runs.Store(0)
		c := pretend(dir, count)
		c.jobs = 2
		records, err := c.run(t.Context(), cells)
		if err != nil {
			t.Fatal(err)
		}
		if runs.Load() != want || c.finished != 3 {
			t.Errorf("attempt %d ran %d cells and finished %d, want %d and 3", attempt, runs.Load(), c.finished, want)
		}
		if records[0].Scores["relative_error"] != 0.5 || records[1].Error != "no luck" || records[2].Seed != 2 {
			t.Errorf("attempt %d gave %+v", attempt, records)
		}
	}
}

func TestWorkOfFinishedCellsIsRemoved(t *testing.T) {
	dir, cell := t.TempDir(), newTestCell(t, "ste", 1, nil)
	for range 2 {
		c := pretend(dir, fine)
		if err := os.MkdirAll(c.workDir(cell), 0o755); err != nil { // as a kill may leave it
			t.Fatal(err)
		}
		if _, err := c.run(t.Context(), []Cell{cell}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "work")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the work was left behind: %v", err)
		}
	}
}

func TestDamagedRecordsAreMadeAgain(t *testing.T) {
	dir, cell := t.TempDir(), newTestCell(t, "ste", 1, nil)
	if _, err := pretend(dir, fine).run(t.Context(), []Cell{cell}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(recordPath(dir, cell.ID))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Replace(whole, []byte(`"seed": 1`), []byte(`"seed": 3`), 1)
	for _, content := range [][]byte{[]byte(`{"id": "`), flipped, whole} {
		if err := os.WriteFile(recordPath(dir, cell.ID), content, 0o644); err != nil {
			t.Fatal(err)
		}
		runs, want := 0, 1
		if bytes.Equal(content, whole) {
			want = 0
		}
		count := func(ctx context.Context, cell Cell) (Record, error) { runs++; return fine(ctx, cell) }
		if _, err := pretend(dir, count).run(t.Context(), []Cell{cell}); err != nil || runs != want {
			t.Errorf("%.20q: %d runs, %v", content, runs, err)
		}
	}
}

func TestPanicsAndBadSettingsAreRecords(t *testing.T) {
	bad := newTestCell(t, "ste", 3, func(c *vqtrain.Config) { c.Quantizer.Codes = 1 })
	cells := []Cell{newTestCell(t, "ste", 1, nil), bad, newTestCell(t, "ste", 2, nil)}
	records, err := pretend(t.TempDir(), func(ctx context.Context, cell Cell) (Record, error) {
		if cell.Config.Seed == 1 {
			panic("axis 3 of 2")
		}
		return fine(ctx, cell)
	}).run(t.Context(), cells)
	if err != nil {
		t.Fatal(err)
	}
	if records[0].Error != "internal failure: axis 3 of 2" || !strings.Contains(records[1].Error, "quantizer.codes") ||
		records[2].Error != "" {
		t.Errorf("got %+v", records)
	}
}

func TestInterruptionKeepsWhatIsDone(t *testing.T) {
	dir := t.TempDir()
	cells := []Cell{newTestCell(t, "ste", 1, nil), newTestCell(t, "ste", 2, nil), newTestCell(t, "ste", 3, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := pretend(dir, nil)
	c.measure = func(ctx context.Context, cell Cell) (Record, error) {
		if cell.Config.Seed == 2 {
			cancel()
			if err := os.MkdirAll(c.workDir(cell), 0o755); err != nil {
				t.Error(err)
			}
			return Record{}, train.ErrInterrupted
		}
		return fine(ctx, cell)
	}
	if _, err := c.run(ctx, cells); !errors.Is(err, train.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	for i, want := range []bool{true, false, false} {
		if _, known, err := loadRecord(dir, cells[i].ID); err != nil || known != want {
			t.Errorf("cell %d: finished %v, %v", i, known, err)
		}
	}
	if _, err := os.Stat(c.workDir(cells[1])); err != nil {
		t.Errorf("the work of the interrupted cell is gone: %v", err)
	}
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	c := pretend(t.TempDir(), nil)
	var seen []int
	c.watch = &watcher{step: func(done int) { seen = append(seen, done) }}
	c.measure = func(ctx context.Context, cell Cell) (Record, error) {
		c.step(cell, vqtrain.Progress{Done: 1, Total: 2})
		return fine(ctx, cell)
	}
	cells := []Cell{newTestCell(t, "ste", 1, nil), newTestCell(t, "ema", 1, nil)}
	if _, err := c.run(t.Context(), cells); err != nil {
		t.Fatal(err)
	}
	if want := []int{500, 1000, 1500, 2000}; !slices.Equal(seen, want) || c.total != 2000 {
		t.Errorf("progress %v of %d, want %v of 2000", seen, c.total, want)
	}
}

// real runs tiny cells on built-in vectors.
func real(t *testing.T, dir string) (*runner, func(method string, steps int) Cell) {
	t.Helper()
	v, err := vectors.Open(t.Context(), "synthetic:mixture?rows=600&dim=8", vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	stats, err := v.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := engines("go")
	if err != nil {
		t.Fatal(err)
	}
	c := &runner{dir: dir, watch: task.Silent{}, engine: engine, subject: &subject{kind: OfVectors, resplit: true,
		fingerprint: stats.Fingerprint, source: vqtrain.Source{Set: v, HeldSet: v, Mean: stats.Mean, Variance: stats.Variance}}}
	return c, func(method string, steps int) Cell {
		cell := newTestCell(t, method, 1, func(c *vqtrain.Config) {
			c.Train.Choose = nil
			c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts, c.Quantizer.Transform.Rank = 16, 2, 1, 4
			c.Train.Steps, c.Train.Batch, c.Train.Log, c.Train.Checkpoint, c.Train.Evaluate, c.Train.Schedule.Warmup = steps, 32, 5, 10, 10, 1
		})
		return cell
	}
}

// A cell that was cut short goes on from its checkpoint and ends as one that was
// not.
func TestHalfTrainedCellsGoOn(t *testing.T) {
	whole, cell := real(t, t.TempDir())
	want, err := whole.run(t.Context(), []Cell{cell("ste", 40)})
	if err != nil || want[0].Error != "" {
		t.Fatal(err, want[0].Error)
	}
	broken, cell := real(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broken.watch = &watcher{step: func(done int) {
		if done == 23 {
			cancel()
		}
	}}
	if _, err := broken.run(ctx, []Cell{cell("ste", 40)}); !errors.Is(err, train.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(broken.workDir(cell("ste", 40)), train.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	first := 0
	broken.watch = &watcher{step: func(done int) {
		if first == 0 {
			first = done
		}
	}}
	got, err := broken.run(t.Context(), []Cell{cell("ste", 40)})
	if err != nil || first != 24 {
		t.Fatalf("went on at step %d, %v", first, err)
	}
	a, b := want[0].Scores, got[0].Scores
	if a["mse"] != b["mse"] || a["recall_at_10"] != b["recall_at_10"] || a["mse"] == 0 || len(want[0].Course) != len(got[0].Course) {
		t.Errorf("scores %+v, uninterrupted %+v", b, a)
	}
	if _, err := os.Stat(filepath.Join(broken.dir, "work")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work directory was left behind: %v", err)
	}
}

// The scores equal the tokenizer's own on exactly the held-out rows.
func TestScoresAreConsistent(t *testing.T) {
	c, cell := real(t, t.TempDir())
	records, err := c.run(t.Context(), []Cell{cell("ema", 30), cell("grit", 30)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s := r.Scores
		if r.Error != "" || !(s["relative_error"] > 0 && s["relative_error"] < 0.6) || s["recall_at_10"] <= 0 || s["encode_rate"] <= 0 ||
			s["decode_rate"] <= 0 || s["train_seconds"] <= 0 {
			t.Fatalf("%s: %q, %+v", r.Method, r.Error, s)
		}
		if s["bits_per_vector"] != 8 || s["parameters"] < 2*16*8 {
			t.Errorf("%s: %g bits, %g parameters", r.Method, s["bits_per_vector"], s["parameters"])
		}
		dead, held := 0, 0
		for _, counts := range r.Usage {
			rows := uint64(0)
			for _, n := range counts {
				rows += n
				if n == 0 {
					dead++
				}
			}
			if rows != 600 {
				t.Errorf("%s: a position counts %d rows of 600", r.Method, rows)
			}
		}
		for _, n := range r.Errors {
			held += n
		}
		if float64(dead) != s["dead_codes"] || s["utilization"] != 1-float64(dead)/32 || held != 60 {
			t.Errorf("%s: %d dead codes, %d held-out rows, %+v", r.Method, dead, held, s)
		}
		if len(r.Course) == 0 || r.Course[len(r.Course)-1].Step != 30 {
			t.Errorf("%s: course %+v", r.Method, r.Course)
		}
	}
}

// A held-out file is scored in place of a split, and its rows come first in the
// searched order.
func TestHeldOutFilesAreScored(t *testing.T) {
	c, cell := real(t, t.TempDir())
	held, err := vectors.Open(t.Context(), "synthetic:mixture?rows=70&dim=8&seed=9", vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	s := c.subject
	s.resplit, s.source.HeldSet = false, held
	s.source.Train, s.source.Held = dataset.All(600), dataset.All(held.Len())
	records, err := c.run(t.Context(), []Cell{cell("ste", 5)})
	if err != nil || records[0].Error != "" {
		t.Fatal(err, records[0].Error)
	}
	judged, rows := 0, uint64(0)
	for _, n := range records[0].Errors {
		judged += n
	}
	for _, n := range records[0].Usage[0] {
		rows += n
	}
	if judged != 70 || rows != 670 {
		t.Errorf("%d rows were judged and %d counted, want 70 and 670", judged, rows)
	}
}

// The time left follows from this session's work alone.
func TestTimeLeftIsEstimatedFromThisSession(t *testing.T) {
	w := &watcher{}
	c := pretend(t.TempDir(), nil)
	c.watch = w
	var cells []Cell
	for seed := range 4 {
		cells = append(cells, newTestCell(t, "ste", uint64(seed), func(c *vqtrain.Config) {
			c.Train.Steps, c.Quantizer.Codes, c.Quantizer.Levels = 100, 4, 1
		}))
	}
	c.start(cells)
	c.finish(cells[0], Record{}, true)
	if len(w.remarks) > 0 {
		t.Errorf("a run of an earlier session was reported: %q", w.remarks)
	}
	c.begun = time.Now().Add(-time.Minute) // for the hundred steps that follow
	c.finish(cells[1], Record{Scores: table.Scores{"relative_error": 0.25, "utilization": 1, "train_seconds": 59}}, false)
	c.finish(cells[2], Record{Error: "diverged"}, false)
	want := []string{"2/4  ste, 4, seed 1: error 0.25, 100.0% of codes used, trained in 59s, ETA 2m 00s",
		"3/4  ste, 4, seed 2: failed: diverged, ETA 30s"}
	if !slices.Equal(w.remarks, want) {
		t.Errorf("the log is %q, want %q", w.remarks, want)
	}
}
