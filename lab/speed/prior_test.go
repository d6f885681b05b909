package speed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

// All sizes are measured before any is measured again, so a call that is cut off has a record of each. Training or drawing may
// be left out.
func TestPriorKeepsRoundsThatAreDone(t *testing.T) {
	dir := t.TempDir()
	size := PriorSize{Layers: 1, Width: 8, Heads: 2, Tokens: 4, Codes: 8, Batch: 2, Sample: 8}
	drawn, learned := size, size
	drawn.Batch, drawn.Sample, learned.Sample = 0, 16, 0
	times := `{"train": 1000, "draw": 1000, "engine": "PyTorch 0"}`
	o := PriorOptions{Backend: engine.Embedded, Output: dir, Rounds: 2, Steps: 2, Sizes: []PriorSize{size, drawn, learned},
		Python: fakePeer(t, times, times, times, times)} // and then it fails
	if err := Prior(t.Context(), o, task.Silent{}); err == nil {
		t.Error("the peer's failure is hidden")
	}
	records, err := table.ReadLines[PriorRecord](filepath.Join(dir, PriorPage+".jsonl"))
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records {
		rounds := 1
		if r.PriorSize == size {
			rounds = 2
		}
		if len(r.Ours) != rounds || (r.Ours[0].Train > 0) != (r.Batch > 0) || (r.Ours[0].Draw > 0) != (r.Sample > 0) {
			t.Errorf("%+v, want %d rounds", r, rounds)
		}
	}
	o.Rounds = 0
	if err := Prior(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, PriorPage+".md"))
	if page := string(content); err != nil || strings.Count(page, "training step") != 2 || strings.Count(page, "drawing ") != 2 {
		t.Errorf("%v, the page is:\n%s", err, page)
	}
}

// Ours and the peer run in every round; the record holds both, a second call replaces it, and the page says whether the
// bars hold.
func TestPriorIsTimedBesideItsPeer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	o := PriorOptions{Backend: engine.Embedded, Output: dir, Rounds: 2, Steps: 2, Commit: "abc", Note: "Shared machine",
		Python: fakePeer(t, `{"train": 1000, "draw": 1e-9, "train_cpu": 1000, "draw_cpu": 1e-9, "engine": "PyTorch 0"}`),
		Sizes:  []PriorSize{{Layers: 1, Width: 8, Heads: 2, Tokens: 4, Codes: 8, Batch: 2, Sample: 8}}}
	for range 2 {
		if err := Prior(t.Context(), o, task.Silent{}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := table.ReadLines[PriorRecord](filepath.Join(dir, PriorPage+".jsonl"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	r := records[0]
	if len(r.Ours) != 2 || r.Ours[1].Train <= 0 || r.Ours[1].Draw <= 0 || r.Peer[0].Train != 1000 || r.PeerEngine != "PyTorch 0" {
		t.Errorf("%+v", r)
	}
	content, err := os.ReadFile(filepath.Join(dir, PriorPage+".md"))
	if err != nil {
		t.Fatal(err)
	}
	row, err := table.FindRow(string(content), "# Speed of priors over codes", "training step of 2 rows, "+r.PriorSize.String()+
		", "+threads(r.Threads))
	if err != nil || row["holds"] != "yes" {
		t.Errorf("%v, %v in\n%s", row, err, content)
	}
	if page := string(content); !strings.Contains(page, "| no |") || !strings.Contains(page, "Shared machine.") {
		t.Errorf("the page hides a bar that is missed, or the note:\n%s", page)
	}
	if strings.Contains(string(content), "without CUDA graphs") {
		t.Errorf("the page compares with a loop that was not timed:\n%s", content)
	}
	o.Python, o.Rounds, o.Output = fakePeer(t, `{"train": 1, "draw": 1, "draw_loop": 1000, "engine": "PyTorch 0"}`), 1, t.TempDir()
	if err := Prior(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(filepath.Join(o.Output, PriorPage+".md"))
	if err != nil || !strings.Contains(string(content), "drawing 8 rows, PyTorch without CUDA graphs") {
		t.Errorf("%v, the page lacks the loop:\n%s", err, content)
	}
	o.Python = filepath.Join(t.TempDir(), "absent")
	if err := Prior(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "needs PyTorch") {
		t.Errorf("without the peer: %v", err)
	}
}
