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
	layout, levels := t.model.Quantizer.Layout(), t.activeLevels(step)
	var search vq.Search
	for part := 0; part < len(inputs); part += batchInputs {
		looked, err := t.look("latents and books", func(v weights.Vars, in []*graph.Node) []*graph.Node {
			return append(t.encoded(v, in), t.model.Quantizer.Codebooks(&vq.Context{Vars: v.In(vq.Prefix)})...)
		}, inputs[part])
		if err != nil {
			return given, err
		}
		if search == nil {
			if search, err = t.search(looked[1:]); err != nil {
				return given, err
			}
		}
		latents := looked[0]
		n := latents.Shape[0]
		found := make([]uint32, n*layout.Parts*levels)
		search.Encode(latents.Data, n, levels, cmp.Or(t.config.Train.Beam, t.config.Quantizer.Beam), found, 0)
		all := make([]int32, n*layout.Positions()) // levels that are not in use stay 0
		for i, code := range found {
			row, position := i/(layout.Parts*levels), i%(layout.Parts*levels)
			all[row*layout.Positions()+position/levels*layout.Levels+position%levels] = int32(code)
		}
		given = append(given, tensors.FromFlatDataAndDimensions(all, n, layout.Positions()))
	}
	return given, nil
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
