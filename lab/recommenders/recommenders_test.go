package recommenders

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/lab/table/recommendation"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
)

// callsFile names the environment variable of a file to which the stand-in of the program adds its arguments.
const callsFile = "GRITVQ_TEST_CALLS"

// TestMain makes this program a stand-in of gritvq that answers as that does.
func TestMain(m *testing.M) {
	if path := os.Getenv(callsFile); path != "" {
		if err := standIn(path, os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "looking at data\ngritvq: %v\n", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func standIn(path string, args []string) error {
	calls, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Fprintln(calls, strings.Join(args, " "))
	if err := calls.Close(); err != nil {
		return err
	}
	after := func(flag string) string { return args[slices.Index(args, flag)+1] }
	switch {
	case args[0] == "ids":
		fmt.Println(`{"items":60,"vocab":[8,8],"utilization":1}`)
		return os.MkdirAll(after("-o"), 0o755)
	case args[1] == "train" && after("--seed") == "13":
		return fmt.Errorf("seed 13 does not work")
	case args[1] == "train":
		if err := os.MkdirAll(after("-o"), 0o755); err != nil {
			return err
		}
		fmt.Println(`{}`)
		return os.WriteFile(filepath.Join(after("-o"), "manifest.json"),
			[]byte(`{"seconds":7,"files":[{"name":"model.safetensors","sha256":"m"},{"name":"config.yaml","sha256":"c"}]}`), 0o644)
	}
	fmt.Println(`{"users":9,"items":60,"scores":[{"k":10,"users":9,"recall":0.25,"ndcg":0.125}],"protocol":{"seen_items":"drop"}}`)
	return nil
}

func TestRunMakesIDsOnceAndRepeatsNothing(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv(callsFile, calls)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Place{Program: self, Data: "data", Work: t.TempDir(), Backend: "go", Log: io.Discard}
	job := func(id, kind string, seed uint64) Job {
		return Job{ID: id, Data: "shop", Embeddings: "e.npy", Items: "i.jsonl", Log: "log.txt", Method: "grit", Codes: 8, Kind: kind,
			Prior: "auto", Seen: "drop", Seed: seed, Model: []string{"--steps", "9"}}
	}
	search := job("p-search", "search", 1)
	search.Log = derived
	list := []Job{job("p-dual", "dual", 1), job("p-generative", "generative", 1), search, job("p-bad", "dual", 13)}
	if err := os.Mkdir(filepath.Join(p.Work, "ids"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func() []string {
		t.Helper()
		if err := os.RemoveAll(calls); err != nil {
			t.Fatal(err)
		}
		o := jobs.Options{Parallel: 3, Origin: jobs.Origin{Commit: "abc", Hardware: "h"}}
		if err := Run(t.Context(), list, p, o, task.Silent{}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		slices.Sort(lines)
		return lines
	}
	ids, models := filepath.Join(p.Work, "ids", "shop_grit_8_1"), filepath.Join(p.Work, "models")
	want := []string{
		"ids data/e.npy -o " + ids + " --force --backend go --items data/i.jsonl --method grit --codes 8 --seed 1 --json",
		"recommend train " + ids + " data/log.txt -o " + filepath.Join(models, "p-dual") +
			" --resume --seed 1 --backend go --model dual --prior auto --seen drop --steps 9 --json",
		"recommend eval " + filepath.Join(models, "p-generative") + " data/log.txt --per-user " +
			filepath.Join(p.Work, "ranks", "p-generative.parquet") + " --backend go --json",
		"retrieve train " + ids + " derived -o " + filepath.Join(models, "p-search") +
			" --resume --seed 1 --backend go --prior auto --seen drop --steps 9 --json",
		"retrieve eval " + filepath.Join(models, "p-search") + " derived --per-query " + filepath.Join(p.Work, "ranks", "p-search.parquet") +
			" --backend go --json",
	}
	first := run()
	for _, line := range want {
		if !slices.Contains(first, line) {
			t.Errorf("%q was not called:\n%s", line, strings.Join(first, "\n"))
		}
	}
	if len(first) != 9 { // IDs of two seeds, three models and their scores, and one that fails
		t.Errorf("%d calls:\n%s", len(first), strings.Join(first, "\n"))
	}
	file, _ := Records(p.Work)
	records, err := table.ReadLines[recommendation.Run](file)
	if err != nil || len(records) != 4 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records {
		if r.ID == "p-bad" {
			if r.Failed != "train: seed 13 does not work" {
				t.Errorf("the failure is %q", r.Failed)
			}
			continue
		}
		if r.Failed != "" || r.Scores.Scores[0].Recall != 0.25 || r.IDsScores.Items != 60 || r.Seconds != 7 || r.ConfigHash != "c" ||
			r.Commit != "abc" || r.Date == "" || r.Prior != "auto" || r.Vectors != "e.npy" || r.Flags != "--prior auto --seen drop --steps 9" {
			t.Errorf("the record is %+v", r)
		}
	}
	if second := run(); len(second) != 1 || !strings.HasPrefix(second[0], "recommend train "+filepath.Join(p.Work, "ids", "shop_grit_8_13")) {
		t.Errorf("the second call ran\n%s", strings.Join(second, "\n"))
	}
	list = []Job{job("p-dual", "dual", 1)}
	list[0].Model = []string{"--steps", "10"}
	if err := Run(t.Context(), list, p, jobs.Options{}, task.Silent{}); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("a job of other settings: %v", err)
	}
}

// Every job of the grid has settings that work and a place in a table.
func TestGridIsValid(t *testing.T) {
	names, cells := map[string]bool{}, map[string]bool{}
	for _, j := range Grid() {
		var r recommendation.Run
		j.describe(&r)
		r.IDsScores.Vocab = []int{j.Codes}
		if err := j.Check(); err != nil {
			t.Error(err)
		}
		if cell := r.About().Cell; names[j.ID] || cells[cell] || !slices.Contains(catalogue.Methods(), j.Method) {
			t.Errorf("%s: twice, or of an unknown method", j.ID)
		} else {
			names[j.ID], cells[cell] = true, true
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		var set []string
		for i := 0; i < len(j.Model); i += 2 {
			set = append(set, strings.Replace(j.Model[i+1], "10000", "train.steps=10000", 1))
		}
		settings := recommend.Settings{Purpose: recommend.Recommending, Model: j.Kind, Set: append(set, "prior="+j.Prior)}
		if _, err := settings.Config(); err != nil {
			t.Errorf("%s: %v", j.ID, err)
		}
	}
	oracle := Job{ID: "p-x", Data: "d", Embeddings: "e", Log: "l", Method: "grit", Prior: "auto", Kind: "oracle"}
	for _, bad := range []Job{{}, {ID: "x"}, oracle} {
		if bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
