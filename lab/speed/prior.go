package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/processor"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/prior/gpt"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// PriorOptions choose the sizes at which training a prior and drawing from it are timed beside PyTorch.
type PriorOptions struct {
	Script  []byte      // of the peer
	Python  string      // interpreter with torch
	Backend string      // of ours, see [engine.Choose]
	Commit  string      // of ours
	Note    string      // about the machine, such as other work on it
	Output  string      // directory of the page and its records
	Rounds  int         // of every size, ours and the peer in turn; 0: only the page is made again
	Steps   int         // of training in a round
	Threads int         // of both; 0 is all
	Sizes   []PriorSize // nil: those for a few cores, or for a GPU if the engine compiles
}

// PriorSize is a network, its codes and its batches.
type PriorSize struct {
	Layers int `json:"layers"`
	Width  int `json:"width"`
	Heads  int `json:"heads"`
	Tokens int `json:"tokens"`
	Codes  int `json:"codes"`
	Batch  int `json:"batch"`  // of a training step; 0: training is not timed
	Sample int `json:"sample"` // rows drawn together; 0: drawing is not timed
}

// priorSizes are those of a few cores, or of a GPU.
func priorSizes(compiled bool) []PriorSize {
	if !compiled {
		return []PriorSize{{4, 128, 4, 256, 512, 16, 32}}
	}
	return []PriorSize{{12, 512, 8, 256, 512, 64, 64}, {12, 512, 8, 256, 512, 0, 256}, {12, 512, 8, 256, 16384, 64, 0}}
}

func (s PriorSize) String() string {
	return fmt.Sprintf("%d x %d, %d heads, %d tokens, %s codes", s.Layers, s.Width, s.Heads, s.Tokens, report.Count(s.Codes))
}

// Prior times every size in rounds of ours and the peer, adds the records to those in the output directory, after every round,
// and writes the page of all of them.
func Prior(ctx context.Context, o PriorOptions, watch task.Watcher) error {
	page, records, err := openPriorPage(o.Output)
	if err != nil || o.Rounds == 0 {
		if err == nil {
			err = writePriorPage(page, records)
		}
		return err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil { // before minutes of work
		return err
	}
	if o.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.Threads))
	}
	backend, err := engine.Choose(o.Backend) // which keeps the timings of kernels for later rounds
	if err != nil {
		return err
	}
	defer backend.Finalize()
	sizes := o.Sizes
	if sizes == nil {
		sizes = priorSizes(weights.Compiles(backend))
	}
	measured := make([]PriorRecord, len(sizes))
	for round := range o.Rounds { // so that a call that is cut off has measured all sizes
		for i, size := range sizes {
			r := &measured[i]
			if round == 0 {
				*r = PriorRecord{PriorSize: size, Compiled: weights.Compiles(backend), Engine: o.Backend, Hardware: table.Hardware(),
					Threads: runtime.GOMAXPROCS(0), Steps: o.Steps, Commit: o.Commit, Date: time.Now().UTC().Format(time.DateOnly), Note: o.Note}
			}
			watch.Remark("%s, batches of %d, drawing %d: round %d of %d", size, size.Batch, size.Sample, round+1, o.Rounds)
			ours, err := timePrior(ctx, backend, size, o.Steps)
			if err != nil {
				return err
			}
			peer, err := o.peer(ctx, size)
			if err != nil {
				return err
			}
			if r.PeerEngine = peer.Engine; peer.Device != "" {
				r.Hardware = peer.Device
			}
			r.Ours, r.Peer = append(r.Ours, ours), append(r.Peer, peer.PriorTimes)
			if records, err = addPriorRecord(page, records, *r); err != nil {
				return err
			}
		}
	}
	return writePriorPage(page, records)
}

// PriorTimes are seconds of wall-clock and of processor time.
type PriorTimes struct {
	Train    float64 `json:"train"` // a step
	Draw     float64 `json:"draw"`  // PriorSize.Sample rows
	TrainCPU float64 `json:"train_cpu"`
	DrawCPU  float64 `json:"draw_cpu"`
	DrawLoop float64 `json:"draw_loop,omitempty"` // of the peer, without CUDA graphs; 0 where there are none
}

type peerTimes struct {
	PriorTimes
	Engine string `json:"engine"`
	Device string `json:"device"`
}

func (o PriorOptions) peer(ctx context.Context, s PriorSize) (t peerTimes, err error) {
	arguments := []string{"-"}
	for name, value := range map[string]int{"layers": s.Layers, "width": s.Width, "heads": s.Heads, "tokens": s.Tokens, "codes": s.Codes,
		"batch": s.Batch, "sample": s.Sample, "steps": o.Steps, "threads": runtime.GOMAXPROCS(0)} {
		arguments = append(arguments, "--"+name, strconv.Itoa(value))
	}
	if o.Backend == engine.Embedded {
		arguments = append(arguments, "--cpu")
	}
	command := exec.CommandContext(ctx, o.Python, arguments...)
	threads := strconv.Itoa(runtime.GOMAXPROCS(0))
	command.Env = append(os.Environ(), "OMP_NUM_THREADS="+threads, "OPENBLAS_NUM_THREADS="+threads)
	command.Stdin, command.Stderr = bytes.NewReader(o.Script), os.Stderr
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &t)
	}
	if err != nil {
		return t, fmt.Errorf("the peer failed: %w; it needs PyTorch, and %s is asked for it (-python)", err, o.Python)
	}
	return t, nil
}

// timePrior times training, and drawing one batch of rows after a first one.
func timePrior(ctx context.Context, backend compute.Backend, s PriorSize, steps int) (t PriorTimes, err error) {
	c := prior.Default(weights.Compiles(backend))
	c.Model.Layers, c.Model.Width, c.Model.Heads, c.Model.Dropout = s.Layers, s.Width, s.Heads, 0
	m, err := gpt.New(c.Model, gpt.Layout{Vocab: []int{s.Codes}, Cells: s.Tokens})
	if err != nil {
		return t, err
	}
	set := m.Init(1)
	if s.Batch > 0 {
		if t, set, err = timeTraining(ctx, backend, s, c, steps); err != nil {
			return t, err
		}
	}
	if s.Sample == 0 {
		return t, nil
	}
	o := gpt.DefaultSampling()
	o.Batch, o.Total = s.Sample, 1<<20 // as for many rows
	sampler, err := gpt.NewSampler(backend, m, set, o)
	if err != nil {
		return t, err
	}
	defer sampler.Close()
	rows := make([]gpt.Row, sampler.Together())
	for i := range rows {
		rows[i].Number = i
	}
	var last time.Time
	var cpu float64
	for range 2 { // the second counts
		last, cpu = time.Now(), processor.Time()
		if _, err := sampler.Sample(ctx, rows, nil); err != nil {
			return t, err
		}
	}
	share := float64(s.Sample) / float64(len(rows))
	t.Draw, t.DrawCPU = share*time.Since(last).Seconds(), share*(processor.Time()-cpu)
	return t, nil
}

// timeTraining takes steps of a training run of random codes, a quarter more to warm up.
func timeTraining(ctx context.Context, backend compute.Backend, s PriorSize, c prior.Config, steps int) (
	t PriorTimes, set weights.Set, err error) {
	warm := max(1, steps/4)
	c.Train.Batch, c.Train.Steps, c.Train.Evaluate, c.Train.Log = s.Batch, warm+steps, 0, warm+steps
	data := &prior.Dataset{Layout: gpt.Layout{Vocab: []int{s.Codes}, Cells: s.Tokens}, Height: 1, Width: s.Tokens}
	rng := weights.Rand(1, "prior")
	data.Train.Starts = make([]int32, s.Batch)
	for range s.Batch * s.Tokens {
		data.Train.Codes = append(data.Train.Codes, uint32(rng.IntN(s.Codes)))
	}
	var walls, cpus []float64
	last, cpu := time.Now(), processor.Time()
	watch := train.Observer{Step: func(train.Record) {
		walls, cpus = append(walls, time.Since(last).Seconds()), append(cpus, processor.Time()-cpu)
		last, cpu = time.Now(), processor.Time()
	}}
	trained, err := prior.Train(ctx, backend, data, c, train.Options{Watch: watch})
	if err != nil {
		return t, nil, err
	}
	trained.Scorer.Close()
	t.Train, t.TrainCPU = median(walls[warm:]), median(cpus[warm:])
	return t, trained.Weights, nil
}
