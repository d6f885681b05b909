// Package speed measures gritvq against PyTorch and FAISS and against itself. Absolute times depend on the
// machine; the project's claims are about the ratios of one session.
package speed

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// Row is a ratio and the claim about it.
type Row struct {
	Group  string  `json:"group"`
	Name   string  `json:"name"`
	Ours   string  `json:"ours"`
	Peer   string  `json:"peer"`
	Ratio  float64 `json:"ratio"`
	Claim  string  `json:"claim"`
	Holds  bool    `json:"holds"`
	Reason string  `json:"reason,omitempty"` // why there is no ratio
}

// Options choose the measurements.
type Options struct {
	Only   string // one group; empty: all
	Rounds int    // of every measurement; the best counts on both sides
	Python string // interpreter with torch and faiss
	// Scenario is the command that prints the [Cost] of a scenario, in a process of its own for its peak memory.
	Scenario []string
}

// Results is a table of ratios and the machine they were measured on.
type Results struct {
	Date  string `json:"date"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	Index string `json:"index"` // kernel of the nearest code
	Rows  []Row  `json:"rows"`
}

type bench struct {
	Options
	faiss func() (map[string]any, error) // results of faiss_index.py, run once
}

var groups = []struct {
	name string
	run  func(*bench, context.Context) ([]Row, error)
}{
	{"step", (*bench).step}, {"overhead", (*bench).overhead}, {"nearest", (*bench).nearest},
	{"encode", (*bench).encode}, {"fit", (*bench).fit}, {"conv", (*bench).convolution},
}

// Run measures all groups, or one. Peers that are not installed are left out.
func Run(ctx context.Context, o Options, watch task.Watcher) (*Results, error) {
	b := &bench{Options: o}
	b.faiss = sync.OnceValues(func() (map[string]any, error) { return b.peer(ctx, "faiss_index.py") })
	results := &Results{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), Go: runtime.Version(), Index: index.Level(),
		CPU: table.CPU()}
	for _, g := range groups {
		if o.Only != "" && o.Only != g.name {
			continue
		}
		watch.Remark("measuring %s …", g.name)
		rows, err := g.run(b, ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			r.Group = g.name
			results.Rows = append(results.Rows, r)
		}
	}
	return results, nil
}

// Table shows the ratios.
func (r *Results) Table() report.Table {
	columns := append(report.Columns(report.Auto, "what"), report.Columns(report.Right, "gritvq", "peer", "ratio")...)
	t := report.Table{Columns: append(columns, report.Columns(report.Auto, "claim", "holds")...)}
	for _, row := range r.Rows {
		ratio, holds := report.Number(row.Ratio, 3), "yes"
		if !row.Holds {
			holds = "NO"
		}
		if row.Reason != "" {
			ratio, holds = "-", row.Reason
		}
		t.Rows = append(t.Rows, report.Cells(row.Name, row.Ours, row.Peer, ratio, row.Claim, holds))
	}
	return t
}

//go:embed *.py
var scripts embed.FS

func (b *bench) peer(ctx context.Context, script string, args ...string) (map[string]any, error) {
	program, err := scripts.ReadFile(script)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, b.Python, append([]string{"-"}, args...)...)
	command.Stdin = bytes.NewReader(program)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=2")
	out, err := command.Output()
	if err != nil {
		return nil, errors.New("peer not installed (make bench-peers)")
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	return result, nil
}

type race struct {
	name  string
	key   string // in the peer's results
	limit float64
	ours  func() (seconds float64, err error)
}

// times alternates ours and the peer, so that both see the same machine, and compares the best of all rounds.
func (b *bench) times(peers func() (map[string]any, error), races ...race) ([]Row, error) {
	ours, peer := make([]float64, len(races)), make([]float64, len(races))
	least := func(best *float64, seconds float64) {
		if *best == 0 || seconds < *best {
			*best = seconds
		}
	}
	var absent error
	for range b.Rounds {
		for i, r := range races {
			seconds, err := r.ours()
			if err != nil {
				return nil, err
			}
			least(&ours[i], seconds)
		}
		if absent != nil {
			continue
		}
		var result map[string]any
		if result, absent = peers(); absent == nil {
			for i, r := range races {
				least(&peer[i], result[r.key].(float64))
			}
		}
	}
	var rows []Row
	for i, r := range races {
		row := atMost(r.name, ours[i], peer[i], r.limit)
		if absent != nil {
			row = Row{Name: r.name, Ours: row.Ours, Reason: absent.Error()}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fastest is the least time of a few runs, in seconds, after one of warm-up.
func fastest(runs int, f func() error) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for range runs {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start).Seconds())
	}
	return best, nil
}

func atMost(name string, ours, peer, limit float64) Row {
	return Row{Name: name, Ours: table.Seconds(ours), Peer: table.Seconds(peer), Ratio: ours / peer,
		Claim: fmt.Sprintf("<= %.3gx the time", limit), Holds: ours/peer <= limit}
}
