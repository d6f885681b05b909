package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// NoNode stands for a node that is not there.
const NoNode = math.MaxUint32

// Trie holds the code sequences of a catalogue: which codes may follow a prefix, and
// which items a whole sequence names. It is immutable and safe for concurrent use.
//
// Nodes are numbered breadth first from the root, 0, siblings by rising code. So the
// children of a node, the leaves below it and their items are runs of consecutive
// numbers, and of two nodes at one depth the lower has the smaller prefix.
type Trie struct {
	vocab []int
	depth []uint32 // [L+2] first node of each depth; the last is the number of nodes
	code  []uint32 // [nodes] code that leads to the node; 0 for the root
	first []uint32 // [nodes above the leaves, +1] first child
	start []uint32 // [leaves+1] first item of the leaf, within items
	items []uint32 // [n] items in the order of their sequences, then by number
}

// NewTrie builds the trie of codes [n,L], where row i is the sequence of item i and
// position t takes codes below vocab[t], L = len(vocab). Items may share a sequence.
// It fails if a size is not positive, codes does not hold n*L numbers or one is
// outside its vocabulary.
func NewTrie(codes []uint32, n int, vocab []int) (*Trie, error) {
	length := len(vocab)
	if err := checkSequences(codes, n, vocab); err != nil {
		return nil, err
	}
	row := func(item uint32) []uint32 { return codes[int(item)*length : (int(item)+1)*length] }
	t := &Trie{vocab: slices.Clone(vocab), items: make([]uint32, n), code: []uint32{0}}
	for i := range t.items {
		t.items[i] = uint32(i)
	}
	slices.SortFunc(t.items, func(a, b uint32) int {
		return cmp.Or(slices.Compare(row(a), row(b)), cmp.Compare(a, b))
	})
	shared := make([]int, n) // codes that item i shares with the one before it, -1 for the first
	shared[0] = -1
	for i := 1; i < n; i++ {
		a, b := row(t.items[i-1]), row(t.items[i])
		for shared[i] < length && a[shared[i]] == b[shared[i]] {
			shared[i]++
		}
	}
	t.depth = append(t.depth, 0, 1)
	for position := range length {
		for i, same := range shared {
			if same < position { // a parent starts here
				t.first = append(t.first, uint32(len(t.code)))
			}
			if same > position { // no new child
				continue
			}
			t.code = append(t.code, row(t.items[i])[position])
			if position == length-1 {
				t.start = append(t.start, uint32(i))
			}
		}
		t.depth = append(t.depth, uint32(len(t.code)))
	}
	t.first = append(t.first, uint32(len(t.code)))
	t.start = append(t.start, uint32(n))
	return t, nil
}

func checkSequences(codes []uint32, n int, vocab []int) error {
	length := len(vocab)
	if n <= 0 || length == 0 {
		return fmt.Errorf("a trie of %d items with %d codes each is empty: both must be positive", n, length)
	}
	if len(codes)%length != 0 || len(codes)/length != n {
		return fmt.Errorf("%d codes are not %d items of %d codes each", len(codes), n, length)
	}
	if uint64(len(codes)) >= NoNode {
		return fmt.Errorf("a trie of %d codes is too large: use fewer than %d", len(codes), uint32(NoNode))
	}
	for i, code := range codes {
		if uint64(code) >= uint64(max(0, vocab[i%length])) {
			return fmt.Errorf("item %d, position %d has code %d, outside the vocabulary of %d", i/length, i%length, code, vocab[i%length])
		}
	}
	return nil
}

// Len is the number of items.
func (t *Trie) Len() int { return len(t.items) }

// Root is the node of the empty prefix.
func (t *Trie) Root() uint32 { return 0 }

// Depth is the length of a node's prefix. Methods panic on a node that is not there.
func (t *Trie) Depth(node uint32) int {
	t.checkNode(node)
	return sort.Search(len(t.vocab), func(d int) bool { return node < t.depth[d+1] })
}

func (t *Trie) checkNode(node uint32) {
	if int(node) >= len(t.code) {
		panic(fmt.Sprintf("index: node %d of a trie of %d nodes", node, len(t.code)))
	}
}

// Children lists the codes that may follow a node's prefix, rising; the i-th leads to
// node first+i. A leaf has none. The caller must not modify the list.
func (t *Trie) Children(node uint32) (codes []uint32, first uint32) {
	if int(node) >= len(t.first)-1 {
		t.checkNode(node)
		return nil, NoNode
	}
	first, end := t.first[node], t.first[node+1]
	return t.code[first:end:end], first
}

// Child is the node that code leads to from node, or NoNode.
func (t *Trie) Child(node, code uint32) uint32 {
	codes, first := t.Children(node)
	if i, found := slices.BinarySearch(codes, code); found {
		return first + uint32(i)
	}
	return NoNode
}

// Find is the node of a prefix, or NoNode where no item has that prefix.
func (t *Trie) Find(prefix []uint32) uint32 {
	node := t.Root()
	for _, code := range prefix {
		if node = t.Child(node, code); node == NoNode {
			return NoNode
		}
	}
	return node
}

// Prefix is the sequence of codes that leads to a node, [Depth(node)].
func (t *Trie) Prefix(node uint32) []uint32 {
	prefix := make([]uint32, t.Depth(node))
	for d := len(prefix) - 1; d >= 0; d-- {
		prefix[d] = t.code[node]
		child := node
		node = uint32(sort.Search(len(t.first)-1, func(v int) bool { return t.first[v] > child })) - 1
	}
	return prefix
}

// leaves is the run of leaves below a node, counted from the first leaf.
func (t *Trie) leaves(node uint32) (from, to uint32) {
	from, to = node, node+1
	for range len(t.vocab) - t.Depth(node) {
		from, to = t.first[from], t.first[to]
	}
	return from - t.depth[len(t.vocab)], to - t.depth[len(t.vocab)]
}

// Items lists the items whose sequences begin with a node's prefix, by sequence and
// then by number. The caller must not modify the list.
func (t *Trie) Items(node uint32) []uint32 {
	from, to := t.leaves(node)
	end := t.start[to]
	return t.items[t.start[from]:end:end]
}
