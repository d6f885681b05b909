package speed

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/table"
)

// fakePeer is an interpreter that ignores its script and prints a text, or one text a call until there is none.
func fakePeer(t *testing.T, texts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	script := "echo '" + texts[0] + "'\n"
	if len(texts) > 1 {
		script = "echo >> $0.calls\nsed -n $(wc -l < $0.calls)p $0.texts | grep .\n"
		if err := os.WriteFile(path+".texts", []byte(strings.Join(texts, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat > /dev/null\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPeerPrintsAnObject(t *testing.T) {
	b := &bench{Options: Options{Python: fakePeer(t, `{"stride1": 0.5}`)}}
	if got, err := b.peer(t.Context(), "torch_conv.py"); err != nil || got["stride1"] != 0.5 {
		t.Errorf("%v, %v", got, err)
	}
	for python, problem := range map[string]string{
		filepath.Join(t.TempDir(), "absent"): "peer not installed",
		fakePeer(t, "Traceback"):             "torch_conv.py: ",
	} {
		b.Python = python
		if _, err := b.peer(t.Context(), "torch_conv.py"); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %q", err, problem)
		}
	}
	if _, err := b.peer(t.Context(), "unknown.py"); err == nil {
		t.Error("a script that is not there ran")
	}
}

// The best of all rounds counts on both sides, whichever round it was in.
func TestTimesCompareTheBestRounds(t *testing.T) {
	ours, theirs := []float64{3, 1, 2}, []float64{4, 5, 2}
	next := func(list *[]float64) float64 {
		first := (*list)[0]
		*list = (*list)[1:]
		return first
	}
	r := race{"what", "seconds", 0.4, func() (float64, error) { return next(&ours), nil }}
	b := &bench{Options: Options{Rounds: 3}}
	rows, err := b.times(func() (map[string]any, error) { return map[string]any{"seconds": next(&theirs)}, nil }, r)
	if err != nil || len(rows) != 1 || rows[0].Ratio != 0.5 || rows[0].Holds ||
		rows[0].Ours != table.Seconds(1) || rows[0].Peer != table.Seconds(2) {
		t.Errorf("%+v, %v", rows, err)
	}
	ours = []float64{3, 1, 2}
	rows, err = b.times(func() (map[string]any, error) { return nil, errors.New("absent") }, r)
	if err != nil || rows[0].Reason != "absent" || rows[0].Ours != table.Seconds(1) || rows[0].Peer != "" {
		t.Errorf("without a peer: %+v, %v", rows, err)
	}
	r.ours = func() (float64, error) { return 0, errors.New("failed") }
	if _, err := b.times(nil, r); err == nil {
		t.Error("a failure of ours is no error")
	}
}

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		row   Row
		ratio float64
		claim string
		holds bool
	}{
		{atMost("a", 1, 2, 0.5), 0.5, "<= 0.5x the time", true},
		{atMost("a", 2, 1, 1.5), 2, "<= 1.5x the time", false},
		{atLeast("a", 14, 2, 7), 7, ">= 7x the rate", true},
		{atLeast("a", 13, 2, 7), 6.5, ">= 7x the rate", false},
	} {
		if c.row.Ratio != c.ratio || c.row.Claim != c.claim || c.row.Holds != c.holds {
			t.Errorf("%+v, want ratio %g, %q, %v", c.row, c.ratio, c.claim, c.holds)
		}
	}
}

func TestTableShowsWhyThereIsNoRatio(t *testing.T) {
	r := Results{Rows: []Row{{Name: "a", Ratio: 0.5, Holds: true}, {Name: "b", Ratio: 2}, {Name: "c", Reason: "peer not installed"}}}
	got := r.Table()
	for i, want := range [][2]string{{"0.5", "yes"}, {"2", "NO"}, {"-", "peer not installed"}} {
		if row := got.Rows[i]; row[3].Text != want[0] || row[5].Text != want[1] {
			t.Errorf("row %d: %+v, want %v", i, row, want)
		}
	}
}

func TestSystemField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(path, []byte("VmPeak:\t  9 kB\nVmHWM:\t  120 kB\nmodel name\t: A CPU @ 2 GHz\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"VmHWM": "120 kB", "model name": "A CPU @ 2 GHz", "none": ""} {
		if got := table.SystemField(path, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := table.SystemField(path+"absent", "VmHWM"); got != "" {
		t.Errorf("a file that is not there has %q", got)
	}
}

func TestFastestLeavesOutTheWarmUp(t *testing.T) {
	calls := 0
	seconds, err := fastest(3, func() error { calls++; return nil })
	if err != nil || calls != 4 || seconds < 0 || math.IsInf(seconds, 1) {
		t.Errorf("%d calls, %g s, %v", calls, seconds, err)
	}
	for failing := 1; failing <= 2; failing++ {
		calls = 0
		_, err := fastest(2, func() error {
			if calls++; calls == failing {
				return errors.New("failed")
			}
			return nil
		})
		if err == nil {
			t.Errorf("call %d failed without an error", failing)
		}
	}
}

func TestPeriodMeans(t *testing.T) {
	if got := periodMeans([]float64{1, 3, 5, 7, 100}, 2); !slices.Equal(got, []float64{2, 6}) {
		t.Errorf("%v", got)
	}
}

func TestUnknownGroupsAndScenarios(t *testing.T) {
	if _, err := Step(t.Context(), "nothing", "go", 1, nil); err == nil || !strings.Contains(err.Error(), `unknown scenario "nothing", use `) {
		t.Error(err)
	}
	if got := configuration("grit-topk"); got[0] != "grit" || got[len(got)-1] != "quantizer.transform.kind=attention-topk" {
		t.Errorf("%v", got)
	}
}
