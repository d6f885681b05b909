package compare

import (
	"fmt"
	"sync"
	"time"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train/vqtrain"
)

type progress struct {
	mu       sync.Mutex
	line     task.Line
	begun    time.Time
	share    map[string]int // work of every cell
	behind   map[string]int // of it, done
	done     int            // work of all cells
	total    int
	known    int // work of earlier sessions
	runs     int
	finished int // runs
}

// classicalShare is roughly the ratio of training to fitting time; it only serves the ETA.
const classicalShare = 6

func (r *runner) start(cells []Cell) {
	steps := 0
	for _, cell := range cells {
		steps = max(steps, cell.Config.Train.Steps)
	}
	r.progress = progress{begun: time.Now(), share: map[string]int{}, behind: map[string]int{}, runs: len(cells)}
	for _, cell := range cells {
		if cell.Err != nil {
			continue
		}
		r.share[cell.ID] = cell.Config.Train.Steps
		if cell.classical() {
			r.share[cell.ID] = max(1, steps/classicalShare)
		}
		r.total += r.share[cell.ID]
	}
	r.line = r.watch.Line(r.total, "")
}

func (r *runner) step(cell Cell, p vqtrain.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(cell, r.share[cell.ID]*p.Done/max(1, p.Total))
}

func (r *runner) advance(cell Cell, work int) {
	r.done += work - r.behind[cell.ID]
	r.behind[cell.ID] = work
	r.line.Update(int64(r.done), fmt.Sprintf("run %d of %d: %s", min(r.finished+1, r.runs), r.runs, cell))
}

// finish notes the end of a cell; known cells are of earlier sessions.
func (r *runner) finish(cell Cell, record Record, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(cell, r.share[cell.ID])
	r.finished++
	if known {
		r.known = r.done // later work has this session's speed
		return
	}
	text := "failed: " + record.Error
	if record.Error == "" {
		text = fmt.Sprintf("%s, trained in %s", r.subject.kind.brief(record), table.Seconds(record.Scores["train_seconds"]))
	}
	if left := r.left(); left > 0 {
		text += ", ETA " + report.Duration(left)
	}
	r.watch.Remark("%d/%d  %s: %s", r.finished, r.runs, cell, text)
}

func (r *runner) left() time.Duration {
	worked := r.done - r.known
	if worked <= 0 || r.total <= r.done {
		return 0
	}
	return (time.Since(r.begun) * time.Duration(r.total-r.done) / time.Duration(worked)).Round(time.Second)
}
