package catalogue

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Every ID there is goes to one item, whichever way the items arrive.
func TestNumberingSpellsEveryID(t *testing.T) {
	vocab := []int{3, 4, 5}
	s := Numbering{Seed: 7}
	all, err := s.Codes(vocab, 0, 60)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	for id := range slices.Chunk(all, 3) {
		if id[0] > 2 || id[1] > 3 || id[2] > 4 {
			t.Fatalf("ID %v is outside %v", id, vocab)
		}
		seen[[3]uint32(id)] = true
	}
	if len(seen) != 60 {
		t.Errorf("%d distinct IDs of 60", len(seen))
	}
	later, err := s.Codes(vocab, 41, 10)
	if err != nil || !slices.Equal(later, all[41*3:51*3]) {
		t.Errorf("items that come later have other IDs: %v, %v", later, err)
	}
	if other, _ := (Numbering{Seed: 8}).Codes(vocab, 0, 60); slices.Equal(other, all) {
		t.Error("two seeds give one order")
	}
	_, err = s.Codes(vocab, 0, 61)
	fails(t, err, "60 IDs")
	_, err = s.Codes([]int{1 << 24, 1 << 24, 1 << 24}, 0, 1)
	fails(t, err, "too many")
	_, err = Numbering{Stream: 2, Streams: 2}.Codes(vocab, 0, 1)
	fails(t, err, "stream 2 of 2")
}

// Catalogues that share the IDs never meet, however they grow.
func TestNumberingStreamsStayApart(t *testing.T) {
	seen := map[[2]uint32]int{}
	for stream := range 3 {
		codes, err := Numbering{Seed: 1, Stream: stream, Streams: 3}.Codes([]int{16, 16}, 0, 80-7*stream)
		if err != nil {
			t.Fatal(err)
		}
		for id := range slices.Chunk(codes, 2) {
			if before, twice := seen[[2]uint32(id)]; twice {
				t.Fatalf("streams %d and %d share %v", before, stream, id)
			}
			seen[[2]uint32(id)] = stream
		}
	}
	// Of 256 IDs, numbers 0 to 255, the first stream of three has 86.
	if _, err := (Numbering{Streams: 3}).Codes([]int{16, 16}, 0, 86); err != nil {
		t.Error(err)
	}
	_, err := Numbering{Streams: 3}.Codes([]int{16, 16}, 0, 87)
	fails(t, err, "256 IDs")
}

// The order tells nothing: the correlation of an item's number with the first
// digit of its ID is that of chance, 1/sqrt(n), and all first digits are in use.
func TestNumberingIsWithoutOrder(t *testing.T) {
	const n = 12_000
	codes, err := Numbering{Seed: 1}.Codes([]int{256, 256, 256, 256}, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	var sum, squares, cross float64
	used := map[uint32]bool{}
	for i := range n {
		x, y := (float64(i)-(n-1)/2.0)/(n/math.Sqrt(12)), (float64(codes[4*i])-127.5)/(256/math.Sqrt(12))
		sum, squares, cross = sum+y/n, squares+y*y/n, cross+x*y/n
		used[codes[4*i]] = true
	}
	if math.Abs(cross) > 4/math.Sqrt(n) || math.Abs(sum) > 4/math.Sqrt(n) || math.Abs(squares-1) > 0.05 || len(used) != 256 {
		t.Errorf("correlation %g, mean %g, variance %g, %d digits", cross, sum, squares, len(used))
	}
}

func TestNumberingIdentifiesItself(t *testing.T) {
	for _, s := range []Numbering{{Seed: 3, Streams: 1}, {Seed: math.MaxUint64, Stream: 2, Streams: 5}} {
		if got, ok := ParseNumbering(s.String()); !ok || got != s {
			t.Errorf("%q is read as %+v", s, got)
		}
	}
	for _, text := range []string{"", "3fa9", "numbering", "numbering seed=1 stream=3/3", "numbering seed=1 stream=0/1 more",
		"numbering seed=-1 stream=0/1"} {
		if s, ok := ParseNumbering(text); ok {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

func ExampleNumbering() {
	codes, err := Numbering{Seed: 1}.Codes([]int{256, 256, 256, 256}, 0, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := Build(codes, []int{256, 256, 256, 256}, []string{"lipstick", "shampoo"}, BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Stats().Before.Distinct, "distinct IDs of", table.Levels(), "codes")
	// Output: 2 distinct IDs of 4 codes
}

func FuzzParseNumbering(f *testing.F) {
	f.Add("numbering seed=1 stream=0/3")
	f.Add("3f")
	f.Add("numbering seed=1 stream=16/9000000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := ParseNumbering(text)
		if !ok {
			return
		}
		if s.String() != text {
			t.Errorf("%q is read as %q", text, s)
		}
		if _, err := s.Codes([]int{4, 4}, 0, 1); err != nil && s.Stream < 16 {
			t.Error(err)
		}
	})
}
