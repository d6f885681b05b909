package gpt

import (
	"context"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/weights"
)

// Coder tells how probable the codes of rows are, one place after the other, to a program that writes the rows and to one that
// reads them: both take the same steps with the same number of rows on the embedded engine, whose results depend on neither
// threads nor chance. They depend on [engine.Machine].
type Coder struct {
	sampler *Sampler
	weights []uint32
}

// NewCoder prepares a model with its variables for at most the given number of rows at a time.
func NewCoder(m *Model, set weights.Set, rows int) (*Coder, error) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	s, err := newSampler(backend, m, set, DefaultSampling(), min(rows, embeddedRows))
	if err != nil {
		return nil, err
	}
	return &Coder{sampler: s}, nil
}

// Rows is the number of rows that are coded together.
func (c *Coder) Rows() int { return c.sampler.rows }

// Close releases the engine's memory.
func (c *Coder) Close() { c.sampler.Close() }

// Visit returns the code of a row at a place. Weights computes those of the codes there, each at least 1, which are valid until it
// is called again; a code that both sides know needs none.
type Visit func(row, place int, weights func() ([]uint32, error)) (code uint32, err error)

// Walk visits the first places of rows, at most Rows, in order, and at each place the rows in order. None has a class.
func (c *Coder) Walk(ctx context.Context, rows, places int, visit Visit) error {
	s := c.sampler
	starts, codes := make([]int32, s.rows), make([]int32, s.rows)
	for r := range starts {
		starts[r] = s.model.Layout.NoClass()
	}
	return s.walk(ctx, starts, places, func(t int, logits []float32) ([]int32, error) {
		k := len(logits) / s.rows
		for r := range rows {
			code, err := visit(r, t, func() ([]uint32, error) { return c.weigh(logits[r*k:][:k]) })
			if err != nil {
				return nil, err
			}
			codes[r] = int32(code)
		}
		return codes, nil
	})
}

// totalWeight is about the sum of the weights of all codes: no code is thought less probable than 1 in this.
const totalWeight = 1 << 26

// weigh turns logits into integer weights.
func (c *Coder) weigh(logits []float32) ([]uint32, error) {
	highest := logits[0]
	for _, x := range logits {
		highest = max(highest, x)
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x - highest))
	}
	if math.IsNaN(sum) {
		return nil, fmt.Errorf("the prior gives codes no probabilities: its weights are damaged or did not converge; train it again")
	}
	c.weights = c.weights[:0]
	for _, x := range logits {
		c.weights = append(c.weights, 1+uint32(math.Exp(float64(x-highest))/sum*totalWeight))
	}
	return c.weights, nil
}
