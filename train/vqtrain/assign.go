package vqtrain

import (
	"cmp"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// assign finds the codes [N,L] of the items of every part of a batch, on the host:
// with the codes as they are now and the configured beam, as encoding does. No
// gradient flows through the search.
func (t *Trainer) assign(step int, inputs []*tensors.Tensor) (given []*tensors.Tensor, err error) {
	parts := len(inputs) / batchInputs
	rows := make([]int, t.config.Train.Batch)
	if t.settled(step) {
		t.sampler.Batch(int64(step), rows)
	}
	size := len(rows) / parts
	var search vq.Search
	for part := range parts {
		var found []uint32
		if t.settled(step) {
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

// settled says whether the codes of a row can no longer change: encoder and codes stay, and the row is read as it is.
func (t *Trainer) settled(step int) bool {
	return t.finishing(step) && t.config.Train.Noise == 0 && !t.config.Model.Pictures() && t.activeLevels(step) == t.config.Quantizer.Levels
}

// settledCodes returns the codes of training rows, found as encoding finds them, once for every row.
func (t *Trainer) settledCodes(rows []int, items *tensors.Tensor) ([]uint32, error) {
	if t.known == nil {
		t.known = map[int][]uint32{}
	}
	width, all := t.model.Quantizer.Layout().Positions(), true
	for _, row := range rows {
		all = all && t.known[row] != nil
	}
	if !all {
		found, search, err := t.searchCodes(items, t.config.Quantizer.Levels, t.config.Quantizer.Beam, t.settledSearch)
		if err != nil {
			return nil, err
		}
		t.settledSearch = search
		for i, row := range rows {
			t.known[row] = found[i*width : (i+1)*width]
		}
	}
	codes := make([]uint32, 0, len(rows)*width)
	for _, row := range rows {
		codes = append(codes, t.known[row]...)
	}
	return codes, nil
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
