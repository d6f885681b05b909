package index

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	// At most largestBatch nodes join the graph together, and one for every batchShare
	// nodes in it. The nodes of a batch find each other by comparing all their rows.
	largestBatch = 256
	batchShare   = 8
	linkGroup    = 64 // nodes whose links a worker updates at a time
)

// add appends rows and links the new ones in random order, so that rows sorted by
// likeness do no harm.
func (h *HNSW) add(ctx context.Context, rows []float32, n int) error {
	d, before := h.nodes.d, h.nodes.n
	if err := checkAdded(rows, n, d, h.Len()); err != nil {
		return err
	}
	for i := range n {
		if row := rows[i*d : (i+1)*d]; Dot(row, row) >= longestRow*longestRow {
			return fmt.Errorf("added row %d is not shorter than %g: scale the data down", i, float64(longestRow))
		}
	}
	for i := range n {
		h.twins.add(rows[i*d:(i+1)*d], &h.nodes)
	}
	h.makeRoom(before)
	order := rand.New(rand.NewPCG(h.opt.Seed, uint64(before))).Perm(h.nodes.n - before)
	return h.joinAll(ctx, before, order)
}

// joinAll links the nodes before+order[0], before+order[1], ...
func (h *HNSW) joinAll(ctx context.Context, before int, order []int) error {
	batch := make([]uint32, 0, largestBatch)
	for done := 0; done < len(order); done += len(batch) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("building the HNSW graph stopped %d rows before its end: %w", len(order)-done, err)
		}
		size := max(1, min(largestBatch, (before+done)/batchShare))
		batch = batch[:0]
		for _, node := range order[done:min(done+size, len(order))] {
			batch = append(batch, uint32(before+node))
		}
		if h.top < 0 {
			h.entry, h.top = batch[0], h.layerOf(batch[0])
			continue
		}
		h.join(batch)
	}
	return nil
}

// makeRoom gives the nodes from number before on their empty links.
func (h *HNSW) makeRoom(before int) {
	h.bottom = append(h.bottom, make([]uint32, (h.nodes.n-before)*(1+2*h.opt.M))...)
	size := len(h.upper)
	for node := before; node < h.nodes.n; node++ {
		h.place = append(h.place, uint32(size))
		size += h.layerOf(uint32(node)) * (1 + h.opt.M)
	}
	h.upper = append(h.upper, make([]uint32, size-len(h.upper))...)
}

// edge is a new link from node to, in a layer, back to a node of the batch.
type edge struct {
	layer    int
	to, back uint32
}

func (h *HNSW) join(batch []uint32) {
	forBlocks(len(batch), groupRows, h.opt.Workers, func(from, to int) {
		w := h.takeWalk()
		defer h.walks.Put(w)
		for i := from; i < to; i++ {
			h.chooseNeighbours(w, batch[i], batch[:i])
		}
	})
	var edges []edge
	for _, node := range batch {
		for layer := range h.layerOf(node) + 1 {
			for _, to := range h.links(node, layer) {
				edges = append(edges, edge{layer, to, node})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.to, b.to), cmp.Compare(a.back, b.back))
	})
	var starts []int // of the edges of one node in one layer
	for i, e := range edges {
		if i == 0 || e.to != edges[i-1].to || e.layer != edges[i-1].layer {
			starts = append(starts, i)
		}
	}
	forBlocks(len(starts), linkGroup, h.opt.Workers, func(from, to int) {
		w := h.takeWalk()
		defer h.walks.Put(w)
		for i := from; i < to; i++ {
			end := len(edges)
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			h.linkBack(w, edges[starts[i]:end])
		}
	})
	for _, node := range batch {
		if layer := h.layerOf(node); layer > h.top {
			h.entry, h.top = node, layer
		}
	}
}

// chooseNeighbours links a new node in all its layers to nodes that a walk finds in
// the graph and to earlier nodes of the batch.
func (h *HNSW) chooseNeighbours(w *walk, node uint32, earlier []uint32) {
	query := h.padded(node)
	w.fresh = append(w.fresh[:0], earlier...)
	h.measureFresh(w, query)
	peers := make([]uint64, len(earlier))
	for i, peer := range earlier {
		peers[i] = keyOf(w.cost[i], peer)
	}
	slices.Sort(peers)
	layer := h.layerOf(node)
	h.descend(w, query, layer)
	candidates := make([]uint64, 0, h.opt.EfConstruction+len(peers))
	for l := layer; l >= 0; l-- {
		candidates = candidates[:0]
		if l <= h.top {
			h.explore(w, query, l, h.opt.EfConstruction)
			candidates = append(candidates, w.list...)
		}
		for _, peer := range peers {
			if h.layerOf(nodeOf(peer)) >= l {
				candidates = append(candidates, peer)
			}
		}
		slices.Sort(candidates)
		h.setLinks(node, l, h.diverse(w, candidates, h.capacity(l)))
	}
}

// linkBack links one node in one layer back to new nodes; without room for all, the
// neighbours are chosen anew.
func (h *HNSW) linkBack(w *walk, edges []edge) {
	node, layer := edges[0].to, edges[0].layer
	w.fresh = append(w.fresh[:0], h.links(node, layer)...)
	for _, e := range edges {
		w.fresh = append(w.fresh, e.back)
	}
	if len(w.fresh) <= h.capacity(layer) {
		h.setLinks(node, layer, w.fresh)
		return
	}
	h.measureFresh(w, h.padded(node))
	w.list = w.list[:0]
	for i, other := range w.fresh {
		w.list = append(w.list, keyOf(w.cost[i], other))
	}
	slices.Sort(w.list)
	h.setLinks(node, layer, h.diverse(w, w.list, h.capacity(layer)))
}

// diverse chooses up to limit candidates, best first, passing over those nearer to a
// chosen one than to the node itself: links in many directions keep the graph
// connected. Places left go to those passed over.
func (h *HNSW) diverse(w *walk, candidates []uint64, limit int) []uint32 {
	w.chosen, w.passed = w.chosen[:0], w.passed[:0]
	for _, key := range candidates {
		if len(w.chosen) == limit {
			break
		}
		if node := nodeOf(key); h.shadowed(w, node, costOf(key)) {
			w.passed = append(w.passed, node)
		} else {
			w.chosen = append(w.chosen, node)
		}
	}
	rest := min(limit-len(w.chosen), len(w.passed))
	w.chosen = append(w.chosen, w.passed[:rest]...)
	return w.chosen
}

func (h *HNSW) shadowed(w *walk, node uint32, cost float32) bool {
	const together = 8
	var costs [together]float32
	row := h.padded(node)
	for from := 0; from < len(w.chosen); from += together {
		part := w.chosen[from:min(from+together, len(w.chosen))]
		h.costs(row, h.nodes.rows, h.nodes.stride, part, costs[:])
		for _, c := range costs[:len(part)] {
			if c < cost {
				return true
			}
		}
	}
	return false
}
