package vqtrain

import (
	"cmp"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// assign finds the codes [N,L] of the items of every part of a batch, on the host:
// with the codes as they are now and the configured beam, as encoding does. No
// gradient flows through the search.
func (t *Trainer) assign(step int, inputs []*tensors.Tensor) (given []*tensors.Tensor, err error) {
	parts := len(inputs) / batchInputs
	rows := make([]int, t.config.Train.Batch)
	if t.settles(step) {
		t.sampler.Batch(int64(step), rows)
	}
	size := len(rows) / parts
	var search vq.Search
	for part := range parts {
		var found []uint32
		if t.settles(step) {
			found, err = t.settledCodes(rows[part*size:(part+1)*size], inputs[part*batchInputs])
		} else {
			found, search, err = t.searchCodes(inputs[part*batchInputs], t.activeLevels(step),
				cmp.Or(t.config.Train.Beam, t.config.Quantizer.Beam), search)
		}
		if err != nil {
			return given, err
		}
		given = append(given, t.tensorOf(found, t.activeLevels(step)))
	}
	return given, nil
}

// searchCodes finds the codes [n,parts*levels] of items. Without a search it makes that of the codes as they are.
func (t *Trainer) searchCodes(items *tensors.Tensor, levels, beam int, search vq.Search) ([]uint32, vq.Search, error) {
	looked, err := t.look("latents and books", func(v weights.Vars, in []*graph.Node) []*graph.Node {
		return append(t.encoded(v, in), t.model.Quantizer.Codebooks(&vq.Context{Vars: v.In(vq.Prefix)})...)
	}, items)
	if err == nil && search == nil {
		search, err = t.search(looked[1:])
	}
	if err != nil {
		return nil, nil, err
	}
	n := looked[0].Shape[0]
	found := make([]uint32, n*t.model.Quantizer.Layout().Parts*levels)
	search.Encode(looked[0].Data, n, levels, beam, found, 0)
	return found, search, nil
}

// settles says whether the codes of a row can no longer change: encoder and codes stay, and the row is read as it is.
func (t *Trainer) settles(step int) bool {
	return t.finishing(step) && t.config.Train.Noise == 0 && !t.config.Model.Pictures() && t.activeLevels(step) == t.config.Quantizer.Levels
}

// settledCodes are codes that stay. If rows come back often enough to be worth it, they are found once.
type settledCodes struct {
	search vq.Search
	codes  []uint32 // [rows of the set, positions]; nil if they are not kept
	known  []bool   // [rows of the set]
}

// settledCodes returns the codes of training rows as encoding finds them.
func (t *Trainer) settledCodes(rows []int, items *tensors.Tensor) ([]uint32, error) {
	s, width := &t.settled, t.model.Quantizer.Layout().Positions()
	if seen := float64(t.config.Train.Steps) * float64(t.config.Train.Batch); s.search == nil && seen > float64(t.source.Train.Len()) {
		n := t.source.Set.Len()
		if err := memory.Check(fmt.Sprintf("the codes of %d rows", n), n, width, 5); err != nil {
			return nil, err
		}
		s.codes, s.known = make([]uint32, n*width), make([]bool, n)
	}
	found, all := make([]uint32, 0, len(rows)*width), s.codes != nil
	for _, row := range rows {
		if all = all && s.known[row]; all {
			found = append(found, s.codes[row*width:(row+1)*width]...)
		}
	}
	if all {
		return found, nil
	}
	found, search, err := t.searchCodes(items, t.config.Quantizer.Levels, t.config.Quantizer.Beam, s.search)
	if err != nil {
		return nil, err
	}
	s.search = search
	for i, row := range rows {
		if s.codes != nil {
			copy(s.codes[row*width:], found[i*width:(i+1)*width])
			s.known[row] = true
		}
	}
	return found, nil
}

// tensorOf spreads codes [n,parts*levels] of leading levels over all positions; levels that are not in use stay 0.
func (t *Trainer) tensorOf(found []uint32, levels int) *tensors.Tensor {
	layout := t.model.Quantizer.Layout()
	n := len(found) / (layout.Parts * levels)
	all := make([]int32, n*layout.Positions())
	for i, code := range found {
		row, position := i/(layout.Parts*levels), i%(layout.Parts*levels)
		all[row*layout.Positions()+position/levels*layout.Levels+position%levels] = int32(code)
	}
	return tensors.FromFlatDataAndDimensions(all, n, layout.Positions())
}

func (t *Trainer) encoded(v weights.Vars, in []*graph.Node) []*graph.Node {
	return []*graph.Node{t.model.Encode(v, in[0])}
}

// search is the search with the given codebooks and, where it needs them, the
// quantizer's other variables.
func (t *Trainer) search(books []*weights.Array) (vq.Search, error) {
	var set weights.Set
	if _, needed := t.model.Quantizer.(vq.HostSearcher); needed {
		var err error
		if set, err = t.bank.Read(vq.Prefix); err != nil {
			return nil, err
		}
	}
	return vq.NewSearch(t.model.Quantizer, set, books)
}
