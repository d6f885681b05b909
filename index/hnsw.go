package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// HNSWOptions tunes NewHNSW. The zero value is a sensible choice.
type HNSWOptions struct {
	M              int // links of a row in a layer, 4 to 512, twice as many in the lowest; 0 means 16
	EfConstruction int // length of the list kept while looking for neighbours of a new row; 0 means 200
	EfSearch       int // length of the list that a search keeps by default; 0 means 100
	Seed           uint64
	Workers        int // goroutines while rows are added; <= 0 means GOMAXPROCS
}

// HNSW finds the best rows by walking a graph of neighbours in layers, ever nearer
// to the query (Malkov and Yashunin 2018).
//
// Rows join in batches: their neighbours are looked for in the graph as it stands
// and among the batch, and then all links are made. The graph depends on the rows,
// the calls that added them and the options, not on Workers or the machine.
//
// Equal rows share one node: they are found together and cost nothing.
type HNSW struct {
	nodes collection // distinct rows, padded for the row kernels
	opt   HNSWOptions
	costs func(query, rows []float32, stride int, items []uint32, out []float32)
	twins twins

	entry  uint32   // where searches begin
	top    int      // its layer, the highest; -1 without rows
	bottom []uint32 // [nodes, 1+2M] links of the lowest layer: see block
	upper  []uint32 // links of the other layers
	place  []uint32 // [nodes] where a node's upper layers begin in upper
	walks  sync.Pool
}

// longestRow is the length up to which squared distances fit float32.
const longestRow = 1e18

// NewHNSW copies rows [n,d] and builds their graph. It fails if a size is not
// positive, rows does not hold n*d finite numbers, a row is not shorter than 1e18,
// an option is out of range, or ctx ends first.
func NewHNSW(ctx context.Context, metric Metric, rows []float32, n, d int, opt HNSWOptions) (*HNSW, error) {
	return newHNSWWith(ctx, bestRows, metric, rows, n, d, opt)
}

func newHNSWWith(ctx context.Context, kern rowKernel, metric Metric, rows []float32, n, d int, opt HNSWOptions) (*HNSW, error) {
	if err := metric.check(); err != nil {
		return nil, err
	}
	opt.M, opt.EfConstruction, opt.EfSearch = cmp.Or(opt.M, 16), cmp.Or(opt.EfConstruction, 200), cmp.Or(opt.EfSearch, 100)
	const longest = 1 << 20
	if opt.M < 4 || opt.M > 512 || min(opt.EfConstruction, opt.EfSearch) < 1 || max(opt.EfConstruction, opt.EfSearch) > longest {
		return nil, fmt.Errorf("HNSW options are out of range: M %d (4 to 512), EfConstruction %d and EfSearch %d (1 to %d)",
			opt.M, opt.EfConstruction, opt.EfSearch, longest)
	}
	h := &HNSW{nodes: collection{metric: metric, d: d, stride: paddedTo(d)}, opt: opt, costs: kern.costs(metric), top: -1}
	h.walks.New = func() any { return new(walk) }
	if err := h.add(ctx, rows, n); err != nil {
		return nil, err
	}
	return h, nil
}

// Len is the number of rows.
func (h *HNSW) Len() int { return len(h.twins.node) }

// Dim is the length of a row.
func (h *HNSW) Dim() int { return h.nodes.d }

// Row returns row i, [d]. The caller must not modify it.
func (h *HNSW) Row(i int) []float32 { return h.nodes.Row(int(h.twins.node[i])) }

// Add appends rows [n,d]. It fails, changing nothing, if a size is not positive, rows
// does not hold n*d finite numbers, or a row is not shorter than 1e18.
func (h *HNSW) Add(rows []float32, n int) error { return h.add(context.Background(), rows, n) }

// layerOf is the highest layer of a node, a function of the seed and its number. Each
// layer has 1/M of the nodes of the one below.
func (h *HNSW) layerOf(node uint32) int {
	layer := 0
	for x := mixed(h.opt.Seed ^ mixed(uint64(node)+1)); x < math.MaxUint64/uint64(h.opt.M); x = mixed(x) {
		layer++
	}
	return layer
}

// mixed is the splitmix64 finaliser after one step (Steele, Lea and Flood 2014).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (h *HNSW) capacity(layer int) int {
	if layer == 0 {
		return 2 * h.opt.M
	}
	return h.opt.M
}

// block holds the links of a node in a layer: their number, then capacity(layer)
// places, 0 where not used.
func (h *HNSW) block(node uint32, layer int) []uint32 {
	size := 1 + h.capacity(layer)
	if layer == 0 {
		return h.bottom[int(node)*size : (int(node)+1)*size]
	}
	at := int(h.place[node]) + (layer-1)*size
	return h.upper[at : at+size]
}

func (h *HNSW) links(node uint32, layer int) []uint32 {
	b := h.block(node, layer)
	return b[1 : 1+b[0]]
}

func (h *HNSW) setLinks(node uint32, layer int, links []uint32) {
	b := h.block(node, layer)
	b[0] = uint32(copy(b[1:], links))
	clear(b[1+len(links):])
}

// padded is the row of a node with the zeros that follow it, [stride].
func (h *HNSW) padded(node uint32) []float32 {
	return h.nodes.rows[int(node)*h.nodes.stride : (int(node)+1)*h.nodes.stride]
}

// twins says which rows are equal: each distinct row is a node, and the rows of a
// node form a chain by rising number.
type twins struct {
	node  []uint32          // [n] node of each row
	next  []uint32          // [n] next row of the same node, or Missing
	first []uint32          // [nodes] first row of each node
	last  []uint32          // [nodes] last row of each node
	known map[uint64]uint32 // node by hash of its row; nodes that collide follow at hash+1, ...
}

// find is the node of a row, or Missing; a new node belongs at key.
func (t *twins) find(row []float32, nodes *collection) (node uint32, key uint64) {
	for key = hashOf(row); ; key++ {
		node, taken := t.known[key]
		if !taken {
			return Missing, key
		}
		if slices.Equal(row, nodes.Row(int(node))) {
			return node, key
		}
	}
}

// hashOf is FNV-1a over the 32-bit words of a row; -0 counts as 0.
func hashOf(row []float32) uint64 {
	hash := uint64(14695981039346656037)
	for _, v := range row {
		if v == 0 {
			v = 0
		}
		hash = (hash ^ uint64(math.Float32bits(v))) * 1099511628211
		hash ^= hash >> 32
	}
	return hash
}

// add appends a row, making a node of it if it is the first of its kind.
func (t *twins) add(row []float32, nodes *collection) {
	node, key := t.find(row, nodes)
	if node == Missing {
		node = uint32(nodes.n)
		nodes.append(row)
		if t.known == nil {
			t.known = make(map[uint64]uint32)
		}
		t.known[key] = node
	}
	item := uint32(len(t.node))
	t.node, t.next = append(t.node, node), append(t.next, Missing)
	if int(node) == len(t.first) {
		t.first, t.last = append(t.first, item), append(t.last, item)
		return
	}
	t.next[t.last[node]], t.last[node] = item, item
}
