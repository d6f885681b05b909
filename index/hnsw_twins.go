package index

import (
	"math"
	"slices"
)

// twins says which rows are equal: each distinct row is a node, and the rows
// of a node form a chain by rising number.
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

// add appends a row, making a node of it if it is the first of its kind. It
// reports whether it did.
func (t *twins) add(row []float32, nodes *collection) (fresh bool) {
	node, key := t.find(row, nodes)
	if node == Missing {
		node, fresh = uint32(nodes.n), true
		nodes.append(row)
		if t.known == nil {
			t.known = make(map[uint64]uint32)
		}
		t.known[key] = node
	}
	t.chain(node)
	return fresh
}

// chain appends a row of a node.
func (t *twins) chain(node uint32) {
	item := uint32(len(t.node))
	t.node, t.next = append(t.node, node), append(t.next, Missing)
	if int(node) == len(t.first) {
		t.first, t.last = append(t.first, item), append(t.last, item)
		return
	}
	t.next[t.last[node]], t.last[node] = item, item
}
