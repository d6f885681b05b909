package codes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// maxDepth bounds the decisions that lead to a code; a path fits a uint32.
const maxDepth = 32

// codeTree is a binary tree whose leaves are the codes of a level. A code is
// coded as the decisions on the way to it. Codes of similar vectors share their
// first decisions, which makes neighbouring codes good predictors, and the tree
// is balanced by counts, so that a decision is about one bit.
type codeTree struct {
	order []uint32 // [K] the leaves from left to right
	depth []uint8  // [K] by code: decisions that lead to it
	path  []uint32 // [K] by code: the decisions, the first in the highest bit
	nodes []treeNode
}

// treeNode is a decision. Node 0 is the root; a vocabulary of one code has no
// nodes.
type treeNode struct {
	child [2]int32 // the next node, or ^code of a leaf
	path  uint32   // decisions that lead here, the first in the highest bit
	depth uint8    // their number
}

// buildTree splits the codes in two, recursively, along the principal axis of
// their vectors [K,width]. Counts [K] are weights: both halves are about
// equally frequent.
func buildTree(vectors []int8, width int, counts []uint32) codeTree {
	b := treeBuilder{vectors: vectors, width: width, counts: counts, depth: make([]uint8, len(counts)), along: make([]float64, len(counts))}
	codes := make([]uint32, len(counts))
	for code := range codes {
		codes[code] = uint32(code)
	}
	b.split(codes)
	tree, err := newCodeTree(codes, b.depth)
	if err != nil {
		panic(err) // splitting gives two subtrees each time, hence a tree
	}
	return tree
}

type treeBuilder struct {
	vectors []int8
	width   int
	counts  []uint32
	depth   []uint8   // [K] decisions so far on the way to a code
	along   []float64 // [K] places of the codes at hand on their main axis
}

// split sorts codes into the order of the leaves and adds to their depths.
func (b *treeBuilder) split(codes []uint32) {
	if len(codes) == 1 {
		return
	}
	axis := b.mainAxis(codes)
	var total uint64
	for _, code := range codes {
		b.along[code] = 0
		for i, x := range b.vectors[int(code)*b.width:][:b.width] {
			b.along[code] += float64(axis[i] * float64(x))
		}
		total += weight(b.counts[code])
	}
	slices.SortFunc(codes, func(x, y uint32) int { return cmp.Or(cmp.Compare(b.along[x], b.along[y]), cmp.Compare(x, y)) })

	// The cut halves the weights, as far as each side is left with few enough
	// codes for the remaining depth.
	most := 1 << min(maxDepth-1-int(b.depth[codes[0]]), 30)
	first, last := max(1, len(codes)-most), min(len(codes)-1, most)
	cut, left := 0, uint64(0)
	for cut < last && (cut < first || 2*left+weight(b.counts[codes[cut]]) <= total) {
		left += weight(b.counts[codes[cut]])
		cut++
	}
	for _, code := range codes {
		b.depth[code]++
	}
	b.split(codes[:cut])
	b.split(codes[cut:])
}

// weight makes a code that was never seen half as heavy as one seen once.
func weight(count uint32) uint64 { return 2*uint64(count) + 1 }

// mainAxis returns the direction [width] of largest weighted variance. Products
// are converted before they are added, which forbids a CPU to fuse the two and
// so to round differently.
func (b *treeBuilder) mainAxis(codes []uint32) []float64 {
	width := b.width
	sum := make([]int64, width)
	square := make([]int64, width*width)
	var total int64
	for _, code := range codes {
		x, w := b.vectors[int(code)*width:][:width], int64(weight(b.counts[code]))
		total += w
		for i := range x {
			sum[i] += w * int64(x[i])
			for j := range i + 1 {
				square[i*width+j] += w * int64(x[i]) * int64(x[j])
			}
		}
	}
	covariance := make([]float64, width*width)
	widest := 0
	for i := range width {
		for j := range i + 1 {
			value := float64(square[i*width+j]) - float64(float64(sum[i])*float64(sum[j]))/float64(total)
			covariance[i*width+j], covariance[j*width+i] = value, value
		}
		if covariance[i*width+i] > covariance[widest*width+widest] {
			widest = i
		}
	}
	axis := make([]float64, width)
	axis[widest] = 1
	for range 24 {
		next := make([]float64, width)
		var norm float64
		for i := range width {
			next[i] = dot(covariance[i*width:][:width], axis)
			norm += float64(next[i] * next[i])
		}
		if norm == 0 {
			break // the codes do not differ: any direction serves
		}
		for i := range next {
			axis[i] = next[i] / math.Sqrt(norm)
		}
	}
	return axis
}

// dot is the inner product, rounded the same on every CPU.
func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// newCodeTree rebuilds the tree from its leaves [K], left to right, and their
// depths [K] by code. It fails if those are not a tree of every code.
func newCodeTree(order []uint32, depth []uint8) (codeTree, error) {
	vocab := len(order)
	tree := codeTree{order: order, depth: depth, path: make([]uint32, vocab), nodes: make([]treeNode, 0, max(0, vocab-1))}
	seen := make([]bool, vocab)
	for _, code := range order {
		if int(code) >= vocab || seen[code] {
			return tree, fmt.Errorf("the leaves of the tree are not the codes 0 to %d, each once", vocab-1)
		}
		seen[code] = true
	}
	left, err := tree.grow(order, 0, 0)
	if err == nil && len(left) > 0 {
		err = errors.New("the depths of the codes make more than one tree")
	}
	return tree, err
}

// grow adds the subtree at path whose leaves begin the list, and returns the
// rest of the list.
func (t *codeTree) grow(leaves []uint32, path uint32, depth uint8) ([]uint32, error) {
	if len(leaves) == 0 || t.depth[leaves[0]] < depth || depth > maxDepth {
		return nil, errors.New("the depths of the codes make no tree")
	}
	if code := leaves[0]; t.depth[code] == depth {
		t.path[code] = path
		return leaves[1:], nil
	}
	if len(t.nodes) == cap(t.nodes) {
		return nil, errors.New("the depths of the codes make no tree")
	}
	self := len(t.nodes)
	t.nodes = append(t.nodes, treeNode{path: path, depth: depth})
	var err error
	for side := range t.nodes[self].child {
		next := int32(len(t.nodes))
		if len(leaves) > 0 && t.depth[leaves[0]] == depth+1 {
			next = ^int32(leaves[0])
		}
		t.nodes[self].child[side] = next
		if leaves, err = t.grow(leaves, path|uint32(side)<<(maxDepth-1-int(depth)), depth+1); err != nil {
			return nil, err
		}
	}
	return leaves, nil
}

// class assigns a neighbour's code to one of 2^resolution classes, as the context
// of a decision at node. Half of the classes are the code's first decisions. The
// other half is for codes that share these with the node: they are classified by
// the place where they leave the way to the node, and the decisions after it.
func (t *codeTree) class(code uint32, node *treeNode, resolution int) uint32 {
	path := t.path[code]
	if resolution < 2 {
		return path >> (maxDepth - resolution)
	}
	half := resolution - 1
	shared := min(bits.LeadingZeros32(path^node.path), int(node.depth))
	if shared < half {
		return path >> (maxDepth - half)
	}
	above := int(node.depth) - shared // decisions on the way to the node not shared
	detail := half - 1 - above
	if detail < 0 {
		return 1 << half
	}
	next := shared
	if above > 0 {
		next++ // the decision that parts them is known to be the other one
	}
	return 1<<half | 1<<detail | path<<next>>(maxDepth-detail)
}
