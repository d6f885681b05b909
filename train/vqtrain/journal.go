package vqtrain

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/weights"
)

// Record is one line of log.jsonl.
type Record struct {
	Step           int                `json:"step"`
	Phase          string             `json:"phase"`
	Epoch          int64              `json:"epoch"`
	Loss           float64            `json:"loss"`
	Reconstruction float64            `json:"reconstruction"`
	Auxiliary      float64            `json:"auxiliary"`
	Perceptual     float64            `json:"perceptual,omitempty"` // before its weight
	Rate           float64            `json:"rate"`
	GradientNorm   float64            `json:"gradient_norm"`
	Gradients      map[string]float64 `json:"gradients,omitempty"` // by parameter group
	Gap            float64            `json:"gap"`                 // mean |code - latent|
	K              float64            `json:"k"`                   // mean gradient factor of the radius
	Utilization    float64            `json:"utilization"`
	DeadRate       float64            `json:"dead_rate"`
	Perplexity     float64            `json:"perplexity"`
	EntropyBits    float64            `json:"entropy_bits"`
	Levels         *LevelRecord       `json:"levels,omitempty"`
	RowNormMin     float64            `json:"row_norm_min"` // of the usable codes
	RowNormMax     float64            `json:"row_norm_max"`
	FeatureNorm    float64            `json:"feature_norm"`     // largest |W|₂
	FeatureLeast   float64            `json:"feature_smallest"` // least singular value of any W
	Reset          int                `json:"reset"`            // codes moved at this step
	Resets         int                `json:"resets"`           // and in all
	Skipped        int                `json:"skipped"`          // steps skipped so far
	Held           *HeldRecord        `json:"held,omitempty"`
	Event          string             `json:"event,omitempty"`

	scalars []float32
}

// LevelRecord is the window's usage of every code position.
type LevelRecord struct {
	Utilization []float64 `json:"utilization"`
	Perplexity  []float64 `json:"perplexity"`
}

// HeldRecord is a score on held-out examples.
type HeldRecord struct {
	RelativeError float64 `json:"relative_error,omitempty"` // of vectors
	MSE           float64 `json:"mse"`
	PSNR          float64 `json:"psnr,omitempty"` // of pictures
	SSIM          float64 `json:"ssim,omitempty"`
	Utilization   float64 `json:"utilization"`
	Scored        int     `json:"scored"` // examples
}

// kept says whether the step was taken; a loss or gradient that is not finite
// skips it.
func (r *Record) kept() bool { return r.scalars[3] > 0 }

// fill copies the step's scalars and the state into the record.
func (r *Record) fill(t *Trainer) {
	at := func(name string) float64 {
		for i, n := range stepScalars {
			if n == name {
				return finite(float64(r.scalars[i]))
			}
		}
		panic("unknown step scalar " + name)
	}
	r.Loss, r.Reconstruction, r.Auxiliary = at("loss"), at("reconstruction"), at("auxiliary")
	r.GradientNorm, r.Gap, r.K, r.Perceptual = at("gradient_norm"), at("gap"), at("k"), at("perceptual")
	r.Epoch = t.sampler.Epoch(int64(r.Step - 1))
	r.Rate = t.config.Train.Optimizer.Rate * t.config.Train.Schedule.At(r.Step-1, t.config.Train.Steps)
	r.Resets, r.Skipped = t.state.Resets, t.state.Skipped
	r.Gradients = map[string]float64{}
	for _, g := range weights.Groups {
		if n := at("gradient_" + string(g)); n > 0 {
			r.Gradients[string(g)] = n
		}
	}
}

// finite keeps records valid JSON: what is not a number is written as -1, and
// the event beside it says why.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return -1
	}
	return x
}

// measureUsage adds what the window says about the codes.
func (t *Trainer) measureUsage(r *Record) {
	usage := t.window.usage()
	r.Utilization, r.Perplexity, r.EntropyBits = mean(usage.Utilization), mean(usage.Perplexity), mean(usage.Entropy)
	r.DeadRate = 1 - r.Utilization
	r.Levels = &LevelRecord{usage.Utilization, usage.Perplexity}
}

// measure adds the quantities that need a look at the parameters.
func (t *Trainer) measure(r *Record) error {
	if !t.state.Started {
		return nil
	}
	books, err := t.currentBooks()
	if err != nil {
		return fmt.Errorf("measuring the codebooks: %w", err)
	}
	r.RowNormMin, r.RowNormMax = math.Inf(1), 0
	for _, book := range books {
		for i := range book.Shape[0] {
			sum := 0.0
			for _, x := range book.Row(i) {
				sum += float64(x) * float64(x)
			}
			r.RowNormMin, r.RowNormMax = math.Min(r.RowNormMin, math.Sqrt(sum)), math.Max(r.RowNormMax, math.Sqrt(sum))
		}
	}
	r.RowNormMin, r.RowNormMax = finite(r.RowNormMin), finite(r.RowNormMax)
	return t.watchFeatures(r)
}

// featureLimit is the spectral norm beyond which W is scaled back even without a
// configured bound: codes that far from their raw vectors are a runaway.
const featureLimit = 50

// watchFeatures measures every W and scales a runaway back.
func (t *Trainer) watchFeatures(r *Record) error {
	set, err := t.bank.Read("quantizer")
	if err != nil {
		return err
	}
	r.FeatureLeast = math.Inf(1)
	clipped := weights.Set{}
	for _, p := range set.Paths() {
		w := set[p]
		if weights.GroupOf(p) != weights.Feature || len(w.Shape) != 2 {
			continue
		}
		norm, least := eval.SingularRange(w.Data, w.Shape[0])
		r.FeatureNorm = math.Max(r.FeatureNorm, norm)
		r.FeatureLeast = math.Min(r.FeatureLeast, least)
		if norm > featureLimit {
			for i := range w.Data {
				w.Data[i] *= float32(featureLimit / norm)
			}
			clipped["quantizer/"+p] = w
			r.Event = t.event("|W| of %s reached %.3g and was scaled back to %d", p, norm, featureLimit)
		}
	}
	if math.IsInf(r.FeatureLeast, 1) {
		r.FeatureLeast = 0
	}
	r.FeatureNorm, r.FeatureLeast = finite(r.FeatureNorm), finite(r.FeatureLeast)
	return t.bank.Install(clipped)
}

// journal appends records to log.jsonl. A resumed run cuts off what was written
// after its checkpoint.
type journal struct {
	file *os.File
	size int64
}

func openJournal(path string, size int64) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the training log: %w", err)
	}
	if info, statErr := f.Stat(); statErr == nil {
		size = min(size, info.Size()) // records that were lost are not made up
	}
	if err = f.Truncate(size); err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the training log: %w", err)
	}
	return &journal{file: f, size: size}, nil
}

func (j *journal) write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing the training log: %w", err)
	}
	n, err := j.file.Write(append(line, '\n'))
	j.size += int64(n)
	if err != nil {
		return fmt.Errorf("writing the training log: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// ReadLog reads the records of a log.jsonl.
func ReadLog(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the training log: %w", err)
	}
	defer f.Close()
	var records []Record
	for decoder := json.NewDecoder(f); ; {
		var r Record
		if err := decoder.Decode(&r); err == io.EOF {
			return records, nil
		} else if err != nil {
			return records, fmt.Errorf("reading the training log %s: %w", path, err)
		}
		records = append(records, r)
	}
}
