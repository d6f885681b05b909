package codes

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomTree is the tree of random vectors and counts.
func randomTree(random *rand.Rand, vocab, width int, count func(code int) uint32) codeTree {
	vectors, counts := make([]int8, vocab*width), make([]uint32, vocab)
	for i := range vectors {
		vectors[i] = int8(random.IntN(256) - 128)
	}
	for i := range counts {
		counts[i] = count(i)
	}
	return buildTree(vectors, width, counts)
}

func TestTreeLeadsToEveryCode(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	steep := func(code int) uint32 { return uint32(min(1<<(code%17), math.MaxUint16)) }
	for _, vocab := range []int{1, 2, 3, 5, 64, 1000} {
		for _, count := range []func(int) uint32{func(int) uint32 { return 0 }, func(int) uint32 { return random.Uint32N(100) }, steep} {
			tree := randomTree(random, vocab, 3, count)
			if len(tree.nodes) != vocab-1 {
				t.Fatalf("%d nodes for %d codes", len(tree.nodes), vocab)
			}
			for code := range vocab {
				at := int32(0)
				for depth := range tree.depth[code] {
					node := tree.nodes[at]
					if node.depth != depth || bits.LeadingZeros32(node.path^tree.path[code]) < int(depth) {
						t.Fatalf("node %+v on the way to code %d at depth %d", node, code, depth)
					}
					at = node.child[tree.path[code]>>(maxDepth-1-depth)&1]
				}
				if vocab > 1 && at != ^int32(code) {
					t.Fatalf("the path of code %d leads to %d", code, at)
				}
			}
		}
	}
}

// With counts that double from code to code the balanced tree is a chain: codes
// from a thousand to a million such would be deeper than a path is long.
func TestTreeDepthIsBounded(t *testing.T) {
	vocab := 60
	b := treeBuilder{width: 1, depth: make([]uint8, vocab), along: make([]float64, vocab)}
	var codes []uint32
	for code := range vocab {
		b.vectors = append(b.vectors, int8(code))
		b.counts = append(b.counts, uint32(1)<<min(code, 31))
		codes = append(codes, uint32(code))
	}
	b.split(codes)
	if deepest := slices.Max(b.depth); deepest > maxDepth || deepest < 20 {
		t.Errorf("the deepest code has depth %d", deepest)
	}
	if _, err := newCodeTree(codes, b.depth); err != nil {
		t.Error(err)
	}
}

func TestTreeKeepsNeighboursTogether(t *testing.T) {
	// Codes on a line, frequent at its end: leaves in the order of the line,
	// and the average depth near the entropy of the counts.
	const vocab = 256
	vectors, counts := make([]int8, vocab), make([]uint32, vocab)
	var total, entropy, depth float64
	for code := range vocab {
		vectors[code] = int8(code*37%vocab - 128)
		counts[code] = uint32(code*37%vocab) * 20
		total += float64(counts[code])
	}
	tree := buildTree(vectors, 1, counts)
	line := make([]int8, vocab)
	for i, code := range tree.order {
		line[i] = vectors[code]
	}
	if !slices.IsSorted(line) && !slices.IsSortedFunc(line, func(a, b int8) int { return int(b) - int(a) }) {
		t.Errorf("leaves along the line: %v", line)
	}
	for code, count := range counts {
		if p := float64(count) / total; p > 0 {
			entropy -= p * math.Log2(p)
			depth += p * float64(tree.depth[code])
		}
	}
	if depth < entropy || depth > entropy+0.3 {
		t.Errorf("average depth %.3f, entropy %.3f", depth, entropy)
	}
}

func TestTreeRefusesWhatIsNone(t *testing.T) {
	for name, test := range map[string]struct {
		order []uint32
		depth []uint8
		want  string
	}{
		"twice":     {[]uint32{0, 0}, []uint8{1, 1}, "each once"},
		"outside":   {[]uint32{0, 2}, []uint8{1, 1}, "each once"},
		"too deep":  {[]uint32{0, 1}, []uint8{1, 2}, "no tree"},
		"two trees": {[]uint32{0, 1}, []uint8{0, 0}, "more than one tree"},
		"shallow":   {[]uint32{0, 1, 2}, []uint8{2, 1, 2}, "no tree"},
		"abyss":     {[]uint32{0}, []uint8{255}, "no tree"},
		"missing":   {[]uint32{0, 1, 2}, []uint8{2, 2, 2}, "no tree"},
		"by code":   {[]uint32{0, 2, 1}, []uint8{2, 2, 1}, "no tree"},
	} {
		if _, err := newCodeTree(test.order, test.depth); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// classByText is class by its definition, with decisions as text.
func classByText(code, node string, resolution int) uint32 {
	number := func(text string, length int) (value uint32) {
		text += strings.Repeat("0", maxDepth)
		for _, c := range text[:length] {
			value = value<<1 | uint32(c-'0')
		}
		return value
	}
	if resolution < 2 {
		return number(code, resolution)
	}
	half := resolution - 1
	shared := 0
	for shared < len(node) && code[shared] == node[shared] {
		shared++
	}
	if shared < half {
		return number(code, half)
	}
	detail := half - 1 - (len(node) - shared)
	if detail < 0 {
		return 1 << half
	}
	if shared < len(node) {
		shared++
	}
	return 1<<half + 1<<detail + number(code[shared:], detail)
}

func TestClassesOfNeighbours(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 1))
	tree := randomTree(random, 100, 2, func(int) uint32 { return random.Uint32N(50) })
	text := func(path uint32, depth uint8) (decisions string) {
		for i := range depth {
			decisions += string('0' + rune(path>>(maxDepth-1-i)&1))
		}
		return decisions
	}
	near := 0
	for i := range tree.nodes {
		node := &tree.nodes[i]
		for code := range uint32(100) {
			for resolution := range maxFine + 1 {
				got := tree.class(code, node, resolution)
				if want := classByText(text(tree.path[code], tree.depth[code]), text(node.path, node.depth), resolution); got != want ||
					got >= 1<<resolution {
					t.Fatalf("class %d of code %d at node %+v with %d bits, want %d", got, code, node, resolution, want)
				}
				if resolution > 2 && got>>(resolution-1) == 1 {
					near++
				}
			}
		}
	}
	if near == 0 {
		t.Error("no code was near a node")
	}
}
