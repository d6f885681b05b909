package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomSequences draws n sequences, a few of them equal.
func randomSequences(rng *rand.Rand, n int, vocab []int) []uint32 {
	codes := make([]uint32, 0, n*len(vocab))
	for i := range n {
		if i > 0 && rng.IntN(5) == 0 {
			other := rng.IntN(i)
			codes = append(codes, codes[other*len(vocab):(other+1)*len(vocab)]...)
			continue
		}
		for _, v := range vocab {
			codes = append(codes, uint32(rng.IntN(v)))
		}
	}
	return codes
}

// withPrefix lists the items that have a prefix, by sequence and number.
func withPrefix(codes []uint32, length int, prefix []uint32) []uint32 {
	var items []uint32
	for i := 0; i < len(codes); i += length {
		if slices.Equal(codes[i:i+len(prefix)], prefix) {
			items = append(items, uint32(i/length))
		}
	}
	slices.SortStableFunc(items, func(a, b uint32) int {
		return slices.Compare(codes[int(a)*length:int(a+1)*length], codes[int(b)*length:int(b+1)*length])
	})
	return items
}

func TestTrieMatchesAListOfSequences(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, vocab := range [][]int{{1}, {7}, {3, 2}, {4, 1, 5}, {2, 300, 2, 9}} {
		length := len(vocab)
		for _, n := range []int{1, 2, 40, 200} {
			codes := randomSequences(rng, n, vocab)
			trie, err := NewTrie(codes, n, vocab)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			var visit func(prefix []uint32)
			visit = func(prefix []uint32) {
				node := trie.Find(prefix)
				want := withPrefix(codes, length, prefix)
				if len(want) == 0 {
					if node != NoNode {
						t.Fatalf("prefix %v has node %d but no items", prefix, node)
					}
					return
				}
				seen++
				if got := trie.Items(node); !slices.Equal(got, want) {
					t.Fatalf("items of %v are %v, want %v", prefix, got, want)
				}
				if got := trie.Prefix(node); !slices.Equal(got, prefix) || trie.Depth(node) != len(prefix) {
					t.Fatalf("prefix of node %d is %v at depth %d, want %v", node, got, trie.Depth(node), prefix)
				}
				distinct := map[string]bool{}
				var next []uint32
				for _, item := range want {
					row := codes[int(item)*length : int(item+1)*length]
					distinct[fmt.Sprint(row)] = true
					if len(prefix) < length && !slices.Contains(next, row[len(prefix)]) {
						next = append(next, row[len(prefix)])
					}
				}
				from, to := trie.leaves(node)
				if got := int(to - from); got != len(distinct) {
					t.Fatalf("%d leaves below %v, want %d", got, prefix, len(distinct))
				}
				children, first := trie.Children(node)
				if !slices.Equal(children, next) {
					t.Fatalf("codes after %v are %v, want %v", prefix, children, next)
				}
				for i, code := range children {
					if trie.Child(node, code) != first+uint32(i) {
						t.Fatalf("child %d of %v is node %d, want %d", code, prefix, trie.Child(node, code), first+uint32(i))
					}
				}
				if len(prefix) < length {
					for code := range vocab[len(prefix)] {
						visit(append(slices.Clone(prefix), uint32(code)))
					}
				}
			}
			visit([]uint32{})
			if len(trie.code) != seen || trie.Len() != n || !slices.Equal(trie.vocab, vocab) {
				t.Fatalf("%d nodes of %d, %d items of %d", len(trie.code), seen, trie.Len(), n)
			}
			if _, leaves := trie.leaves(trie.Root()); int(leaves) != len(trie.start)-1 {
				t.Fatalf("%d leaves, %d below the root", len(trie.start)-1, leaves)
			}
		}
	}
}

// slowWalk lists every allowed continuation of a user's hypotheses, best first.
func slowWalk(trie *Trie, from *Beams, user int, logp []float32, stride, width int) (nodes []uint32, totals []float64) {
	type option struct {
		total float64
		path  []uint32
	}
	var all []option
	for b := range from.Width {
		node := from.Nodes[user*from.Width+b]
		if node == NoNode {
			continue
		}
		for code := range trie.vocab[from.Depth] {
			total := from.Totals[user*from.Width+b] + float64(logp[(user*from.Width+b)*stride+code])
			path := append(trie.Prefix(node), uint32(code))
			if trie.Find(path) != NoNode && total > math.Inf(-1) {
				all = append(all, option{total, path})
			}
		}
	}
	slices.SortFunc(all, func(a, b option) int {
		if order := cmp.Compare(b.total, a.total); order != 0 {
			return order
		}
		return slices.Compare(a.path, b.path)
	})
	for _, o := range all[:min(width, len(all))] {
		nodes, totals = append(nodes, trie.Find(o.path)), append(totals, o.total)
	}
	return nodes, totals
}

func TestWalkMatchesBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	vocab := []int{6, 4, 9, 3}
	const users, stride = 21, 11
	for _, width := range []int{1, 3, 20, 500} {
		trie, err := NewTrie(randomSequences(rng, 150, vocab), 150, vocab)
		if err != nil {
			t.Fatal(err)
		}
		beams := trie.Start(users)
		for depth := range vocab {
			logp := make([]float32, users*beams.Width*stride)
			for i := range logp {
				logp[i] = -float32(rng.IntN(4)) // few values: many ties
				switch rng.IntN(20) {
				case 0:
					logp[i] = float32(math.Inf(-1))
				case 1:
					logp[i] = float32(math.NaN())
				}
			}
			next := trie.Walk(beams, logp, stride, width, 3)
			if alone := trie.Walk(beams, logp, stride, width, 1); !slices.Equal(alone.Nodes, next.Nodes) {
				t.Fatal("the result depends on the number of workers")
			}
			for user := range users {
				nodes, totals := slowWalk(trie, beams, user, logp, stride, width)
				row := next.Nodes[user*width : (user+1)*width]
				for i := range width {
					at := user*width + i
					if i >= len(nodes) {
						if row[i] != NoNode || !math.IsInf(next.Totals[at], -1) || next.Parents[at] != 0 || next.Codes[at] != 0 {
							t.Fatalf("hypothesis %d should be missing, is node %d at %v", i, row[i], next.Totals[at])
						}
						continue
					}
					if row[i] != nodes[i] || next.Totals[at] != totals[i] {
						t.Fatalf("width %d, depth %d, user %d: hypothesis %d is node %d at %v, want %d at %v",
							width, depth, user, i, row[i], next.Totals[at], nodes[i], totals[i])
					}
					parent := beams.Nodes[user*beams.Width+int(next.Parents[at])]
					if trie.Child(parent, next.Codes[at]) != row[i] {
						t.Fatalf("parent %d and code %d do not lead to node %d", next.Parents[at], next.Codes[at], row[i])
					}
				}
			}
			beams = next
		}
		items := make([]uint32, users*width)
		trie.Rank(beams, width, items)
		for user := range users {
			seen := map[uint32]bool{}
			for _, item := range items[user*width : (user+1)*width] {
				if item != Missing && (seen[item] || int(item) >= trie.Len()) {
					t.Fatalf("user %d gets item %d twice, or it does not exist", user, item)
				}
				seen[item] = true
			}
		}
	}
}

// A beam as wide as the catalogue ranks every item by the sum of its scores.
func TestWideWalkIsExhaustive(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	vocab := []int{5, 5, 5}
	const n = 90
	codes := randomSequences(rng, n, vocab)
	trie, err := NewTrie(codes, n, vocab)
	if err != nil {
		t.Fatal(err)
	}
	table := normals(7, 3*5) // log-probability by position and code
	beams := trie.Start(1)
	for depth := range vocab {
		logp := slices.Repeat(table[depth*5:(depth+1)*5], beams.Width)
		beams = trie.Walk(beams, logp, 5, len(trie.start)-1, 0)
	}
	want := make([]uint32, n)
	for i := range want {
		want[i] = uint32(i)
	}
	row := func(item uint32) []uint32 { return codes[item*3 : item*3+3] }
	total := func(item uint32) float64 {
		var sum float64
		for position, code := range row(item) {
			sum += float64(table[position*5+int(code)])
		}
		return sum
	}
	slices.SortStableFunc(want, func(a, b uint32) int {
		if order := cmp.Compare(total(b), total(a)); order != 0 {
			return order
		}
		return slices.Compare(row(a), row(b))
	})
	got := make([]uint32, n)
	trie.Rank(beams, n, got)
	if !slices.Equal(got, want) {
		t.Errorf("ranking %v, want %v", got, want)
	}
}

func TestNewTrieErrors(t *testing.T) {
	for _, c := range []struct {
		codes []uint32
		n     int
		vocab []int
		want  string
	}{
		{nil, 0, []int{2}, "is empty"},
		{[]uint32{1}, 1, nil, "is empty"},
		{[]uint32{1, 2, 3}, 2, []int{4, 4}, "3 codes are not 2 items of 2"},
		{[]uint32{1, 2, 3, 4}, 2, []int{4, 4}, "item 1, position 1 has code 4, outside the vocabulary of 4"},
		{[]uint32{0}, 1, []int{-1}, "outside the vocabulary of -1"},
	} {
		if _, err := NewTrie(c.codes, c.n, c.vocab); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewTrie(%v, %d, %v) error %v, want one about %q", c.codes, c.n, c.vocab, err, c.want)
		}
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s was accepted", what)
		}
	}()
	f()
}

func TestTriePanics(t *testing.T) {
	trie, err := NewTrie([]uint32{0, 1, 2, 0}, 2, []int{3, 2})
	if err != nil {
		t.Fatal(err)
	}
	mustPanic(t, "a node past the end", func() { trie.Items(uint32(len(trie.code))) })
	mustPanic(t, "children of a node past the end", func() { trie.Children(uint32(len(trie.code))) })
	mustPanic(t, "a short row", func() { trie.Walk(trie.Start(1), make([]float32, 2), 2, 1, 1) })
	mustPanic(t, "a short stride", func() { trie.Walk(trie.Start(2), make([]float32, 6), 2, 1, 1) })
	mustPanic(t, "width 0", func() { trie.Walk(trie.Start(1), make([]float32, 3), 3, 0, 1) })
	beams := trie.Walk(trie.Start(1), make([]float32, 3), 3, 2, 1)
	mustPanic(t, "a rank of prefixes", func() { trie.Rank(beams, 1, make([]uint32, 1)) })
	beams = trie.Walk(beams, make([]float32, 4), 2, 2, 1)
	mustPanic(t, "a step past the leaves", func() { trie.Walk(beams, make([]float32, 8), 2, 1, 1) })
}

func BenchmarkTrieWalk(b *testing.B) {
	const items, users, beam, k = 100_000, 256, 20, 256
	vocab := []int{k, k, k, k}
	trie, err := NewTrie(randomSequences(rand.New(rand.NewPCG(1, 1)), items, vocab), items, vocab)
	if err != nil {
		b.Fatal(err)
	}
	logp := normals(2, users*beam*k)
	for step := range vocab {
		beams := trie.Start(users)
		for range step {
			beams = trie.Walk(beams, logp, k, beam, 0)
		}
		b.Run(fmt.Sprintf("step=%d", step), func(b *testing.B) {
			for b.Loop() {
				trie.Walk(beams, logp, k, beam, 0)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*users), "µs/user")
		})
	}
}

func BenchmarkNewTrie(b *testing.B) {
	const items, k = 100_000, 256
	vocab := []int{k, k, k, k}
	codes := randomSequences(rand.New(rand.NewPCG(1, 1)), items, vocab)
	for b.Loop() {
		if _, err := NewTrie(codes, items, vocab); err != nil {
			b.Fatal(err)
		}
	}
}
