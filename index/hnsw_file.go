package index

import (
	"errors"
	"fmt"
	"io"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// hnswHead is the number of bytes of: M, EfConstruction, EfSearch uint32, seed
// uint64, nodes uint64, entry uint32.
const hnswHead = 3*4 + 8 + 8 + 4

// Save writes the index to a file: after what files begin with, the options but
// Workers, the number of nodes and the entry, the node of each row [n], the
// nodes' rows [nodes,d], and their links in the bottom and the upper layers.
func (h *HNSW) Save(path string) error { return atomicfile.Write(path, h.write) }

func (h *HNSW) write(to io.Writer) error {
	return writeStorage(to, hnswKind, h.nodes.metric, h.Len(), h.nodes.d, func(w *storageWriter) {
		w.uint32(uint32(h.opt.M))
		w.uint32(uint32(h.opt.EfConstruction))
		w.uint32(uint32(h.opt.EfSearch))
		w.uint64(h.opt.Seed)
		w.uint64(uint64(h.nodes.n))
		w.uint32(h.entry)
		w.uint32s(h.twins.node)
		for node := range h.nodes.n {
			w.float32s(h.nodes.Row(node))
		}
		w.uint32s(h.bottom)
		w.uint32s(h.upper)
	})
}

// LoadHNSW reads a file that Save wrote. It fails on anything else. Rows added
// later join the graph as they would have joined the one that was saved.
func LoadHNSW(path string) (*HNSW, error) { return loadStorage(path, readHNSW) }

func readHNSW(from io.Reader, size int64) (*HNSW, error) {
	r := newStorageReader(from, size, hnswKind, "HNSW")
	opt := HNSWOptions{M: int(r.uint32()), EfConstruction: int(r.uint32()), EfSearch: int(r.uint32()), Seed: r.uint64()}
	nodes, entry := r.uint64(), r.uint32()
	if r.err == nil && (nodes == 0 || nodes > uint64(r.rows) || uint64(entry) >= nodes) {
		r.err = fmt.Errorf("the index is damaged: %d nodes of %d rows, entry %d", nodes, r.rows, entry)
	}
	if r.err == nil && (opt.M == 0 || opt.EfConstruction == 0 || opt.EfSearch == 0) {
		r.err = errors.New("the index is damaged: an option is 0")
	}
	least := uint64(r.rows) + nodes*uint64(r.d)
	if r.err == nil && least > uint64(r.size)/4 { // before counting the upper layers, which takes time
		r.err = fmt.Errorf("the index is damaged: %d bytes are too few for %d rows", r.size, r.rows)
	}
	if r.err != nil {
		return nil, r.err
	}
	h, err := emptyHNSW(bestRows, r.metric, r.d, opt)
	if err != nil {
		return nil, fmt.Errorf("the index is damaged: %w", err)
	}
	upper := h.placeNodes(int(nodes))
	bottom := int(nodes) * (1 + 2*opt.M)
	r.expect(hnswHead, least+uint64(bottom)+uint64(upper))
	node, rows := r.uint32s(r.rows), r.float32s(int(nodes)*r.d)
	h.bottom, h.upper = r.uint32s(bottom), r.uint32s(upper)
	if err := r.finish(); err != nil {
		return nil, err
	}
	h.entry, h.top = entry, h.layerOf(entry)
	if err := h.restoreRows(rows, int(nodes), node); err != nil {
		return nil, err
	}
	if err := h.checkLinks(); err != nil {
		return nil, err
	}
	return h, nil
}

// restoreRows puts back the distinct rows [nodes,d] and the node of each row.
func (h *HNSW) restoreRows(rows []float32, nodes int, node []uint32) error {
	d := h.nodes.d
	next := 0 // the first node that no row has had
	for _, v := range node {
		if int(v) > next || int(v) >= nodes {
			return errors.New("the index is damaged: its nodes are out of order")
		}
		if int(v) < next {
			h.twins.chain(v)
			continue
		}
		row := rows[next*d : (next+1)*d]
		if !(Dot(row, row) < longestRow*longestRow) {
			return fmt.Errorf("the index is damaged: row %d is not finite and shorter than %g", len(h.twins.node), float64(longestRow))
		}
		if !h.twins.add(row, &h.nodes) {
			return errors.New("the index is damaged: two of its nodes are equal")
		}
		next++
	}
	if next != nodes {
		return errors.New("the index is damaged: a node has no row")
	}
	return nil
}

// checkLinks reports links that lead nowhere.
func (h *HNSW) checkLinks() error {
	for node := range uint32(h.nodes.n) {
		layers := h.layerOf(node)
		if layers > h.top {
			return errors.New("the index is damaged: its entry is not at the top")
		}
		for layer := range layers + 1 {
			if h.block(node, layer)[0] > uint32(h.capacity(layer)) {
				return errors.New("the index is damaged: a node has too many links")
			}
			for _, other := range h.links(node, layer) {
				if int(other) >= h.nodes.n || other == node || h.layerOf(other) < layer {
					return errors.New("the index is damaged: a link leads nowhere")
				}
			}
		}
	}
	return nil
}
