package recommend

import (
	"context"
	"fmt"
	"sync"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/lexical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// words makes a [network.Prior] of BM25: the score of an item is power times that of
// its words. Memory is that of the index, about 12 bytes for each different word of
// each text.
type words struct {
	index   *lexical.Index
	power   float64
	base    []float32 // zeros
	scratch sync.Pool // of *[]float32
}

func newWords(index *lexical.Index, items int, power float64) *words {
	w := &words{index: index, power: power, base: make([]float32, items)}
	w.scratch.New = func() any { scores := make([]float32, items); return &scores }
	return w
}

// Base implements network.Prior.
func (w *words) Base() []float32 { return w.base }

// Answer implements network.Prior.
func (w *words) Answer(q Question) network.Likely {
	scores := w.scratch.Get().(*[]float32)
	defer w.scratch.Put(scores)
	w.index.Score(q.Text, *scores)
	var l network.Likely
	for i, x := range *scores {
		if x != 0 {
			l.Items, l.Scores = append(l.Items, int32(i)), append(l.Scores, float32(w.power*float64(x)))
		}
	}
	return l
}

// AnswerWithout implements network.Prior: texts have not seen who answers what.
func (w *words) AnswerWithout(e Example) network.Likely { return w.Answer(e.Question) }

// fitWords chooses BM25's settings, and the power that makes the answers of validation
// searches most probable.
func fitWords(ctx context.Context, d *Dataset, limit int) (*Prior, error) {
	c := bm25Kind.Default().(*BM25)
	c.ValidationQueries = limit
	if _, err := (bm25{c}).Fit(ctx, d); err != nil {
		return nil, err
	}
	m := c.Model
	settings := []float32{float32(m.K1), float32(m.B), 0, float32(m.Runs), float32(m.RunWeight), 1}
	if m.Stem {
		settings[2] = 1
	}
	arrays := weights.Set{settingsPath: {Shape: []int{len(settings)}, Data: settings}}
	made, err := loadWords(weights.Set{}.Merge(priorPath, arrays), d.catalogue())
	if err != nil {
		return nil, err
	}
	settings[5] = float32(max(0.1, likeliestPowers([]network.Prior{made}, []float64{1}, d.Cases(ValidationPart, limit), false)[0]))
	made.power = float64(settings[5])
	return &Prior{Prior: made, name: bm25Kind.Name, text: fmt.Sprintf("%s, times %.2f", m, made.power), arrays: arrays}, nil
}

// loadWords indexes the texts of a catalogue with stored settings.
func loadWords(set weights.Set, c *catalogue.Catalogue) (*words, error) {
	stored := set[priorPath+"/"+settingsPath]
	if stored == nil || len(stored.Data) != 6 {
		return nil, fmt.Errorf("the settings of BM25, which the model starts from, are incomplete")
	}
	texts, err := textsOf(c)
	if err != nil {
		return nil, err
	}
	s := stored.Data
	settings := lexical.Config{K1: float64(s[0]), B: float64(s[1]), Stem: s[2] != 0, Runs: int(s[3]), RunWeight: float64(s[4])}
	index, err := lexical.New(settings, texts)
	if err != nil {
		return nil, err
	}
	return newWords(index, len(texts), float64(s[5])), nil
}
