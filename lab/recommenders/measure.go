package recommenders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table/recommendation"
)

// Place says where jobs run.
type Place struct {
	Program string // gritvq
	Data    string // directory below which jobs name their data
	Work    string // directory of IDs, models and ranks
	Backend string // see engine.Choose
	Log     io.Writer
	making  sync.Map // a lock for every table of IDs
}

// Measure runs a job. What an earlier call finished is not repeated, and what was interrupted continues.
func (p *Place) Measure(ctx context.Context, j Job) (r recommendation.Run, err error) {
	ids, model := filepath.Join(p.Work, "ids", j.idsName()), filepath.Join(p.Work, "models", j.ID)
	if err := p.makeIDs(ctx, j, ids, &r.IDsScores); err != nil {
		return r, fmt.Errorf("ids: %w", err)
	}
	if err := p.train(ctx, j, ids, model, &r); err != nil {
		return r, fmt.Errorf("train: %w", err)
	}
	ranks := filepath.Join(p.Work, "ranks", j.ID+".parquet")
	if err := os.MkdirAll(filepath.Dir(ranks), 0o755); err != nil {
		return r, err
	}
	perQuestion := "--per-user"
	if j.Kind == recommendation.SearchKind {
		perQuestion = "--per-query"
	}
	args := []string{j.command(), "eval", model, path(p.Data, j.Log), perQuestion, ranks, "--backend", p.Backend}
	if err := p.run(ctx, args, &r.Scores); err != nil {
		return r, fmt.Errorf("eval: %w", err)
	}
	return r, nil
}

// train trains the model of a job, unless an earlier call did.
func (p *Place) train(ctx context.Context, j Job, ids, model string, r *recommendation.Run) error {
	args := []string{j.command(), "train", ids, path(p.Data, j.Log), "-o", model, "--resume", "--seed", strconv.FormatUint(j.Seed, 10),
		"--backend", p.Backend}
	if j.Kind != recommendation.SearchKind {
		args = append(args, "--model", j.Kind)
	}
	manifest := filepath.Join(model, "manifest.json")
	content, err := os.ReadFile(manifest)
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.run(ctx, append(args, j.modelFlags()...), new(json.RawMessage)); err != nil {
			return err
		}
		content, err = os.ReadFile(manifest)
	}
	var trained struct {
		Seconds float64 `json:"seconds"`
		Files   []struct{ Name, SHA256 string }
	}
	if err == nil {
		err = json.Unmarshal(content, &trained)
	}
	r.Seconds = trained.Seconds
	for _, f := range trained.Files {
		if f.Name == "config.yaml" {
			r.ConfigHash = f.SHA256
		}
	}
	return err
}

// makeIDs makes the IDs of a job, unless another job did.
func (p *Place) makeIDs(ctx context.Context, j Job, dir string, scores *recommendation.IDsScores) error {
	lock, _ := p.making.LoadOrStore(dir, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if content, err := os.ReadFile(dir + ".json"); err == nil {
		return json.Unmarshal(content, scores)
	}
	args := []string{"ids", path(p.Data, j.Embeddings), "-o", dir, "--force", "--backend", p.Backend} // what was not finished is made again
	if j.Items != "" {
		args = append(args, "--items", path(p.Data, j.Items))
	}
	if err := p.run(ctx, append(args, j.idsFlags()...), scores); err != nil {
		return err
	}
	return atomicfile.WriteJSON(dir+".json", "", scores)
}

// grace is the time that an interrupted program has to save its state.
const grace = 30 * time.Second

// run runs the program and reads what it printed. Its error is the program's own last sentence.
func (p *Place) run(ctx context.Context, args []string, into any) error {
	command := exec.CommandContext(ctx, p.Program, append(args, "--json")...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = grace
	var problems bytes.Buffer
	command.Stderr = io.MultiWriter(&problems, p.Log)
	printed, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(problems.String()), "\n")
		if own, found := strings.CutPrefix(lines[len(lines)-1], "gritvq: "); found {
			return errors.New(own)
		}
		return err
	}
	return json.Unmarshal(printed, into)
}
