package gpt

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/weights"
)

// Batch makes the inputs of Loss and Losses from start tokens [n] and codes [n*Tokens].
func (m *Model) Batch(starts []int32, codes []uint32) []*tensors.Tensor {
	converted := make([]int32, len(codes))
	for i, code := range codes {
		converted[i] = int32(code)
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(starts, len(starts)),
		tensors.FromFlatDataAndDimensions(converted, len(starts), m.Layout.Tokens()),
	}
}

// Scorer measures how well a model with given variables predicts rows. Update must not
// be called while others use it.
type Scorer struct {
	model *Model
	store *model.Store
	exec  *model.Exec
	rows  int
}

// scoredTokens is the number of tokens that the engine sees at a time.
const scoredTokens = 1 << 13

// NewScorer prepares a model with its variables.
func NewScorer(backend compute.Backend, m *Model, set weights.Set) (*Scorer, error) {
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	s := &Scorer{model: m, store: model.NewStore(), rows: max(1, scoredTokens/m.Layout.Tokens())}
	err := s.Update(context.Background(), set)
	if err == nil {
		s.exec, err = model.NewExec(backend, s.store, func(_ *model.Scope, inputs []*graph.Node) []*graph.Node {
			losses := m.Losses(weights.FromStore(s.store, inputs[0].Graph()), inputs)
			return []*graph.Node{program.PlannedOne("scoring codes", inputs, losses)}
		})
	}
	if err != nil {
		s.store.Finalize()
		return nil, err
	}
	return s, nil
}

// Update replaces the variables without compiling again.
func (s *Scorer) Update(_ context.Context, set weights.Set) error {
	return weights.Install(s.store, set)
}

// Close releases the engine's memory.
func (s *Scorer) Close() {
	s.exec.Finalize()
	s.store.Finalize()
}

// Score returns the negative log-likelihoods, in nats, of codes [n*Tokens] given start
// tokens [n]. Blocks have a fixed number of rows, so that a row's result does not depend
// on the number of others. Progress, if not nil, is told the rows done.
func (s *Scorer) Score(ctx context.Context, starts []int32, codes []uint32, progress func(rows int)) ([]float32, error) {
	layout := s.model.Layout
	tokens := layout.Tokens()
	if err := layout.Check(codes); err != nil {
		return nil, err
	}
	if len(codes) != len(starts)*tokens {
		return nil, fmt.Errorf("%d start tokens for %d rows of codes", len(starts), len(codes)/tokens)
	}
	for row, start := range starts {
		if start < 0 || int(start) > layout.Classes {
			return nil, fmt.Errorf("row %d is of class %d; the model has %d classes", row, start, layout.Classes)
		}
	}
	result := make([]float32, 0, len(codes))
	for first := 0; first < len(starts); first += s.rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		end := min(len(starts), first+s.rows)
		block, padded := make([]int32, s.rows), make([]uint32, s.rows*tokens)
		copy(block, starts[first:end])
		copy(padded, codes[first*tokens:end*tokens])
		values, err := s.run(s.model.Batch(block, padded))
		if err != nil {
			return nil, err
		}
		result = append(result, values[:(end-first)*tokens]...)
		if progress != nil {
			progress(end)
		}
	}
	return result, nil
}

func (s *Scorer) run(inputs []*tensors.Tensor) ([]float32, error) {
	defer func() {
		for _, x := range inputs {
			x.FinalizeAll()
		}
	}()
	value, err := s.exec.Call1(inputs[0], inputs[1])
	if err != nil {
		return nil, fmt.Errorf("scoring codes: %w", err)
	}
	defer value.FinalizeAll()
	return tensors.CopyFlatData[float32](value)
}
