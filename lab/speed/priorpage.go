package speed

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// PriorPage is the name of the page of [Prior].
const PriorPage = "prior-speed"

// PriorRecord is one size measured in rounds: a line of prior-speed.jsonl.
type PriorRecord struct {
	PriorSize
	Steps      int          `json:"steps"`    // of training in a round
	Compiled   bool         `json:"compiled"` // ours ran on an engine that compiles
	Ours       []PriorTimes `json:"ours"`     // a value a round
	Peer       []PriorTimes `json:"peer"`
	Engine     string       `json:"engine"`
	PeerEngine string       `json:"peer_engine"`
	Hardware   string       `json:"hardware"`
	Threads    int          `json:"threads"`
	Commit     string       `json:"commit"`
	Date       string       `json:"date"`
	Note       string       `json:"note,omitempty"`
}

// Check reports missing rounds.
func (r PriorRecord) Check() error {
	if len(r.Ours) == 0 || len(r.Ours) != len(r.Peer) {
		return errors.New("a record needs as many rounds of ours as of the peer, and at least one")
	}
	return nil
}

// limits are the bars: the most that ours may take of the peer's time.
func (r PriorRecord) limits() (train, draw float64) {
	if r.Compiled {
		return 0.9, 1
	}
	return 0.6, 0.5
}

// loopLimit is the most of the time of a loop without CUDA graphs: a third.
const loopLimit = 1.0 / 3

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

func openPriorPage(dir string) (*table.Page, []PriorRecord, error) {
	page, err := table.OpenPage(dir, PriorPage, "bench prior", "Speed of priors over codes")
	if err != nil {
		return nil, nil, err
	}
	records, err := table.ReadLines[PriorRecord](page.Path(".jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return page, records, err
}

// addPriorRecord stores a record in place of one of the same size, engine, threads and hardware.
func addPriorRecord(page *table.Page, records []PriorRecord, r PriorRecord) ([]PriorRecord, error) {
	kept := []PriorRecord{}
	for _, other := range records {
		if other.PriorSize != r.PriorSize || other.Compiled != r.Compiled || other.Threads != r.Threads || other.Hardware != r.Hardware {
			kept = append(kept, other)
		}
	}
	kept = append(kept, r)
	return kept, atomicfile.WriteJSON(page.Path(".jsonl"), "", kept...)
}

func writePriorPage(page *table.Page, records []PriorRecord) error {
	columns := append(report.Columns(report.Auto, "what"),
		report.Columns(report.Right, "gritvq", "PyTorch", "ratio", "ratio of processor time")...)
	t := report.Table{Columns: append(columns, report.Columns(report.Auto, "bar", "holds")...)}
	for _, r := range records {
		train, draw := r.limits()
		of := func(list []PriorTimes, get func(PriorTimes) float64) (values []float64) {
			for _, x := range list {
				values = append(values, get(x))
			}
			return values
		}
		add := func(what string, limit float64, wall, peer, cpu func(PriorTimes) float64) {
			row := paired("", of(r.Ours, wall), of(r.Peer, peer), limit)
			processor := ""
			if !r.Compiled && cpu != nil {
				processor = report.Number(paired("", of(r.Ours, cpu), of(r.Peer, cpu), limit).Ratio, 3)
			}
			holds := "yes"
			if !row.Holds {
				holds = "no"
			}
			name := fmt.Sprintf("%s, %s, %s", what, r.PriorSize, threads(r.Threads))
			if r.Compiled {
				name = fmt.Sprintf("%s, %s", what, r.PriorSize)
			}
			t.Rows = append(t.Rows, report.Cells(name, row.Ours, row.Peer, report.Number(row.Ratio, 3), processor, row.Claim, holds))
		}
		step := func(x PriorTimes) float64 { return x.Train }
		drawing := func(x PriorTimes) float64 { return x.Draw }
		loop := func(x PriorTimes) float64 { return x.DrawLoop }
		if r.Batch > 0 {
			add(fmt.Sprintf("training step of %d rows", r.Batch), train, step, step, func(x PriorTimes) float64 { return x.TrainCPU })
		}
		if r.Sample == 0 {
			continue
		}
		add(fmt.Sprintf("drawing %d rows", r.Sample), draw, drawing, drawing, func(x PriorTimes) float64 { return x.DrawCPU })
		if slices.Min(of(r.Peer, loop)) > 0 {
			add(fmt.Sprintf("drawing %d rows, PyTorch without CUDA graphs", r.Sample), loopLimit, drawing, loop, nil)
		}
	}
	page.Text("Times are medians over rounds in which both ran one after the other; ratios are medians of the rounds' ratios.\n")
	page.Table(t)
	for _, r := range records {
		note := ""
		if r.Note != "" {
			note = " " + r.Note + "."
		}
		page.Text("* %s: %s; %s. %s, %s, %d rounds of %d steps, commit %s, %s.%s", r.PriorSize, r.Engine, r.PeerEngine, r.Hardware,
			threads(r.Threads), len(r.Ours), r.Steps, r.Commit, r.Date, note)
	}
	page.Text("\nRaw figures: [%s.jsonl](%s.jsonl).", PriorPage, PriorPage)
	return page.Write()
}
