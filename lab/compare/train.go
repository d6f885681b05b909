package compare

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

func (r *runner) train(ctx context.Context, cell Cell) (Record, error) {
	source := r.subject.of(cell)
	if source.Held.Len() == 0 {
		return Record{}, errors.New("nothing is held out to score on; lower --split")
	}
	backend, release, err := r.engine()
	if err != nil {
		return Record{}, err
	}
	defer debug.FreeOSMemory() // runs last, when nothing refers to the engine
	defer release()
	dir := r.workDir(cell)
	if err := output.MakeDir(dir); err != nil {
		return Record{}, err
	}
	fitted, err := r.fit(ctx, cell, source, backend, dir)
	if err != nil {
		return Record{}, err
	}
	runtime, set := fitted.Runtime, fitted.Weights
	defer runtime.Close()
	rendered, err := config.Render(fitted.Config)
	if err != nil {
		return Record{}, err
	}
	record := cell.failed("")
	record.Settings = string(rendered)
	record.Scores = table.Scores{"train_seconds": fitted.Seconds}
	for _, a := range set {
		record.Scores["parameters"] += float64(len(a.Data))
	}
	if !cell.classical() {
		if record.Course, err = course(filepath.Join(dir, bundle.LogFile), r.subject.kind.held); err != nil {
			return Record{}, err
		}
	}
	if t := fitted.Config.Train; (t.KeepStart || t.Finish == 1) && !cell.Config.Model.Pictures() {
		record.Notes = append(record.Notes, keptCodes)
	}
	err = r.subject.kind.score(ctx, r.subject, trained{cell, runtime, source, backend}, &record)
	return record, err
}

// keptCodes explains equal scores.
const keptCodes = "Methods with equal errors keep the codes of the classical start; --set train.choose=[] trains the codes of every method."

// fit trains the cell's tokenizer, from its last checkpoint if there is one.
func (r *runner) fit(ctx context.Context, cell Cell, source vqtrain.Source, backend compute.Backend, dir string) (*vqtrain.Outcome, error) {
	if cell.patches() {
		return fitPatches(ctx, cell, source, backend)
	}
	watch := vqtrain.Observer{Step: func(m vqtrain.Record) { r.step(cell, m.Progress) }}
	session := func() (*vqtrain.Outcome, error) {
		return vqtrain.Fit(ctx, backend, cell.Config, source, vqtrain.FitOptions{
			Options: vqtrain.Options{Dir: dir, Data: r.subject.fingerprint, Resume: true, Watch: watch}, Trials: filepath.Join(dir, "trials")})
	}
	fitted, err := session()
	if _, unusable := errors.AsType[*train.UnusableError](err); unusable { // what an earlier session left
		if err = cmp.Or(os.RemoveAll(dir), output.MakeDir(dir)); err == nil {
			fitted, err = session()
		}
	}
	return fitted, err
}

func fitPatches(ctx context.Context, cell Cell, source vqtrain.Source, backend compute.Backend) (*vqtrain.Outcome, error) {
	t, err := tokenizer.New(cell.Config.Spec, source.Set.Input())
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	runtime, set, err := picture.FitReference(ctx, backend, t, source.Set, source.Train, cell.Config.Seed)
	if err != nil {
		return nil, err
	}
	c := cell.Config
	c.Spec = runtime.Tokenizer().Spec
	return &vqtrain.Outcome{Config: c, Runtime: runtime, Weights: set, Seconds: time.Since(begun).Seconds()}, nil
}

type trained struct {
	cell    Cell
	runtime *tokenizer.Runtime
	source  vqtrain.Source
	backend compute.Backend
}

func course(path string, held func(vqtrain.HeldRecord) float64) ([]Moment, error) {
	records, err := vqtrain.ReadLog(path)
	if err != nil {
		return nil, err
	}
	var moments []Moment
	for _, r := range records {
		m := Moment{Step: r.Step}
		if r.Levels != nil {
			m.Utilization, m.DeadRate = &r.Utilization, &r.DeadRate
		}
		if r.Held != nil {
			m.Held = table.Finite(held(*r.Held))
		}
		if m.Utilization != nil || m.Held != nil {
			moments = append(moments, m)
		}
	}
	return moments, nil
}

// reason is an error in one line: engine errors carry traces.
func reason(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimRight(first, ":; ")
}
