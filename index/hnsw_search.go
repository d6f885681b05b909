package index

import (
	"cmp"
	"slices"
)

type walk struct {
	stamps []uint32 // [nodes] equal to epoch where the node was seen
	epoch  uint32
	// list holds the best nodes seen, best first: sortable(cost) << 32 | node << 1,
	// plus 1 once the node is expanded.
	list  []uint64
	fresh []uint32  // nodes to measure
	cost  []float32 // their costs
	query []float32 // [stride]

	chosen, passed []uint32 // by diverse
	found          []found
}

func (h *HNSW) takeWalk() *walk {
	w := h.walks.Get().(*walk)
	if len(w.stamps) < h.nodes.n {
		w.stamps, w.epoch = make([]uint32, h.nodes.n+h.nodes.n/4), 0
	}
	return w
}

// keyOf is the entry of a walk's list for a node not yet expanded.
func keyOf(cost float32, node uint32) uint64 { return uint64(sortable(cost))<<32 | uint64(node)<<1 }

func nodeOf(key uint64) uint32 { return uint32(key) >> 1 }

func costOf(key uint64) float32 { return fromSortable(uint32(key >> 32)) }

func (h *HNSW) measureFresh(w *walk, query []float32) {
	w.cost = resized(w.cost, len(w.fresh))
	h.costs(query, h.nodes.rows, h.nodes.stride, w.fresh, w.cost)
}

// descend walks from the entry down to a layer, keeping only the best node.
func (h *HNSW) descend(w *walk, query []float32, layer int) {
	w.fresh = append(w.fresh[:0], h.entry)
	h.measureFresh(w, query)
	w.list = append(w.list[:0], keyOf(w.cost[0], h.entry))
	for l := h.top; l > layer; l-- {
		h.explore(w, query, l, 1)
	}
}

// explore keeps the ef best nodes of a layer in w.list until all of them are expanded.
func (h *HNSW) explore(w *walk, query []float32, layer, ef int) {
	if w.epoch++; w.epoch == 0 {
		clear(w.stamps)
		w.epoch = 1
	}
	list := w.list
	for i, key := range list {
		list[i] = key &^ 1
		w.stamps[nodeOf(key)] = w.epoch
	}
	for next := 0; next < len(list); {
		if list[next]&1 == 1 {
			next++
			continue
		}
		list[next] |= 1
		w.fresh = w.fresh[:0]
		for _, node := range h.links(nodeOf(list[next]), layer) {
			if w.stamps[node] != w.epoch {
				w.stamps[node] = w.epoch
				w.fresh = append(w.fresh, node)
			}
		}
		h.measureFresh(w, query)
		for i, node := range w.fresh {
			key := keyOf(w.cost[i], node)
			if len(list) >= ef {
				if key >= list[ef-1] {
					continue
				}
				list = list[:ef-1]
			}
			at, _ := slices.BinarySearch(list, key)
			list = append(list, 0)
			copy(list[at+1:], list[at:])
			list[at] = key
			next = min(next, at)
		}
	}
	w.list = list
}

// Search walks the graph for the k best rows of each query: see RowIndex.
// SearchOptions.Effort is the length of the list it keeps, at least k. A query not
// shorter than 1e18 finds nothing.
func (h *HNSW) Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions) {
	d := h.nodes.d
	checkSearch("HNSW.Search", x, n, d, k, items, scores)
	ef := max(k, cmp.Or(max(0, opt.Effort), h.opt.EfSearch))
	forBlocks(n, groupRows, opt.Workers, func(from, to int) {
		w := h.takeWalk()
		defer h.walks.Put(w)
		for i := from; i < to; i++ {
			h.searchOne(w, x[i*d:(i+1)*d], k, ef)
			h.nodes.metric.writeFound(w.found, items[i*k:(i+1)*k], slice(scores, i*k, (i+1)*k))
		}
	})
}

// searchOne leaves in w.found the k best rows met by the walk, or a few more, with
// their costs by definition.
func (h *HNSW) searchOne(w *walk, query []float32, k, ef int) {
	w.found = w.found[:0]
	if !(Dot(query, query) < longestRow*longestRow) {
		return
	}
	w.query = resized(w.query, h.nodes.stride)
	clear(w.query[copy(w.query, query):])
	h.descend(w, w.query, 0)
	h.explore(w, w.query, 0, ef)
	for _, key := range w.list {
		if len(w.found) >= k {
			return
		}
		best := h.nodes.measure(query, nodeOf(key))
		item := h.twins.first[nodeOf(key)]
		for taken := 0; item != Missing && taken < k; taken++ {
			w.found = append(w.found, found{best.cost, item})
			item = h.twins.next[item]
		}
	}
}
