package tokenize

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// scoredItems bounds the training items that are scored after training.
var scoredItems = map[dataset.Kind]int{dataset.Vectors: 200_000, dataset.Pictures: 2000}

// entropyPictures bounds the training pictures that the entropy coder learns from.
const entropyPictures = 5000

type outcome struct {
	*vqtrain.Outcome
	metrics  bundle.Metrics
	usage    *eval.Usage // of the scored training rows
	duration time.Duration
}

func (t *training) run(ctx context.Context) (*outcome, error) {
	show := task.WatchTraining(t.watch, t.Config.Train.Steps)
	defer show.Done()
	begun := time.Now()
	fitted, err := vqtrain.Fit(ctx, t.backend, t.Config, t.data.Source, vqtrain.FitOptions{
		Options: vqtrain.Options{Dir: t.Output, Data: t.fingerprint, Resume: t.resume, Watch: t.observe(show)},
		Trials:  filepath.Join(t.Output, bundle.TrialsDir), Codes: t.codes, Reference: t.Reference,
		Started: func(s vqtrain.Start) error { return t.storeStart(ctx, s) },
	})
	if errors.Is(err, train.ErrInterrupted) {
		err = show.Stopped(err)
	}
	if err != nil {
		return nil, err
	}
	show.Done()
	result := &outcome{Outcome: fitted, duration: time.Since(begun)}
	if c := fitted.Choice; c != nil && c.Kept {
		t.watch.Remark("%s", keptSentence(*c))
	}
	if err := t.score(ctx, result); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w while scoring; repeat the command with --resume to finish", train.ErrInterrupted)
		}
		return nil, err
	}
	return result, nil
}

func (t *training) observe(show *task.Training) vqtrain.Observer {
	usage := "" // from the latest record that carries it
	return vqtrain.Observer{Status: show.Status, Step: func(r vqtrain.Record) {
		if r.Levels != nil {
			usage = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
		}
		text := "loss " + report.Number(r.Loss, 3) + usage
		if r.Phase != "train" {
			text = r.Phase + "  " + text
		}
		if p := r.Progress; p.Doing != "" {
			text = p.Doing + "  " + text
		}
		show.Of(r.Progress.Total)
		if r.Phase == "start" { // the caller says why it is kept
			r.Event = ""
		}
		show.Step(r.Progress.Done, text, r.Event)
	}}
}

// score evaluates the trained weights on held-out and training items.
func (t *training) score(ctx context.Context, result *outcome) error {
	m := result.Runtime.Tokenizer().Modality()
	rows := t.data.Train.Head(scoredItems[m.Kind()])
	line := t.watch.Line(rows.Len()+t.data.Held.Len(), m.Item()+"s")
	defer line.Done()
	evaluate := func(set dataset.Set, rows dataset.Selection, before int) (tokenizer.Result, *eval.Usage, error) {
		return result.Runtime.Evaluate(ctx, set, rows, tokenizer.Options{}, func(c tokenizer.Coded) error {
			line.Update(int64(before+c.Done), "scored")
			return nil
		})
	}
	train, usage, err := evaluate(t.data.Set, rows, 0)
	if err != nil {
		return err
	}
	var held tokenizer.Result
	if t.data.Held.Len() > 0 {
		if held, _, err = evaluate(t.data.HeldSet, t.data.Held, rows.Len()); err != nil {
			return err
		}
	}
	result.metrics, result.usage = bundle.NewMetrics(held, train), usage
	result.metrics.Reference = result.Reference
	if t.Reference && held != nil && m.Kind() == dataset.Pictures {
		line.Done()
		result.metrics.Reference, err = t.referencePictures(ctx, result.Runtime.Tokenizer())
	}
	return err
}

// store writes the report and the bundle; then the checkpoint can go.
func (t *training) store(ctx context.Context, result *outcome) (*bundle.Bundle, error) {
	m := result.Runtime.Tokenizer()
	b := &bundle.Bundle{Manifest: t.manifest(result), Tokenizer: m, Weights: result.Weights, Codebooks: result.Runtime.Codebooks()}
	if err := b.SetConfig(result.Config); err != nil {
		return nil, err
	}
	b.Usage = histograms(result.usage, len(b.Codebooks))
	if m.Modality().Kind() == dataset.Pictures {
		var err error
		b.Entropy, err = picture.TrainEntropy(ctx, result.Runtime, t.data.Set, t.data.Train.Head(entropyPictures))
		if err != nil {
			return nil, fmt.Errorf("learning which codes are neighbours: %w", err)
		}
	}
	page, err := t.page(ctx, b, result)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	if err := page.WriteFile(filepath.Join(t.Output, bundle.ReportFile)); err != nil {
		return nil, err
	}
	if err := bundle.Write(t.Output, b); err != nil {
		return nil, err
	}
	return b, errors.Join(train.RemoveCheckpoints(t.Output), bundle.RemoveWork(t.Output))
}

// histograms counts how often every code of the codebooks was chosen.
func histograms(usage *eval.Usage, slots int) (counts [][]int64) {
	for slot := range slots {
		histogram := usage.Histogram(slot)
		row := make([]int64, len(histogram))
		for i, n := range histogram {
			row[i] = int64(n)
		}
		counts = append(counts, row)
	}
	return counts
}

// importCodebook reads the codes to start from. Without a network they are standardised as the vectors are.
func (t *training) importCodebook(ctx context.Context, path string) error {
	v, _, err := openSet(ctx, path, tokenizer.Config{}, false, 0, t.watch)
	if err != nil {
		return err
	}
	defer v.Close()
	m, err := tokenizer.New(t.Config.Spec, t.data.Set.Input())
	if err != nil {
		return usage.Error{Err: err}
	}
	q := t.Config.Quantizer
	books := q.Levels
	if q.Shared {
		books = 1
	}
	if q.Parts > 1 {
		return usage.Errorf("--init-codebook: a codebook can be imported for one part only, --parts is %d", q.Parts)
	}
	if v.Len() != q.Codes*books || v.Input() != m.Dim() {
		return fmt.Errorf("%s has shape (%d, %d), the tokenizer starts from (%d, %d): %s of %d codes; change --codes, --levels or --dim",
			path, v.Len(), v.Input(), q.Codes*books, m.Dim(), report.Counted(books, "level"), q.Codes)
	}
	rows := make([]int, v.Len())
	for i := range rows {
		rows[i] = i
	}
	book, _, err := finite{v, "clean the file"}.Read(rows)
	if err != nil {
		return err
	}
	network := m.InitNetwork(t.Config.Seed, tokenizer.Sample{Mean: t.data.Mean, Variance: t.data.Variance})
	hash := sha256.New()
	for l := range books {
		level := &weights.Array{Shape: []int{q.Codes, m.Dim()}, Data: book.Values[l*q.Codes*m.Dim() : (l+1)*q.Codes*m.Dim()]}
		if m.Identity() {
			standardize(level, network["state/mean"].Data, network["state/scale"].Data, l == 0)
		}
		if err := binary.Write(hash, binary.LittleEndian, level.Data); err != nil {
			return err
		}
		t.codes = append(t.codes, level)
	}
	if _, err := vq.StartFrom(m.Quantizer, t.codes); err != nil {
		return usage.Errorf("--init-codebook: %w; leave it out", err)
	}
	t.fingerprint += " codebook sha256:" + hex.EncodeToString(hash.Sum(nil))
	return nil
}

// standardize maps codes to the tokenizer's units. Later levels code residuals, whose mean is 0.
func standardize(book *weights.Array, mean, scale []float32, first bool) {
	for i := range book.Data {
		j := i % len(mean)
		if first {
			book.Data[i] -= mean[j]
		}
		book.Data[i] /= scale[j]
	}
}
