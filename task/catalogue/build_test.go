package catalogue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func must(t testing.TB, table *Table, err error) *Table {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func fails(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, want)
	}
}

// render writes keys and IDs, a line an item.
func render(t *Table) string {
	var out strings.Builder
	for row := range t.Len() {
		fmt.Fprintln(&out, t.Key(row), t.ID(row))
	}
	return out.String()
}

func TestTokensNumberWhatIsShared(t *testing.T) {
	table, err := Build([]uint32{1, 2, 0, 0, 1, 2, 1, 1, 1, 2}, []int{2, 3}, strings.Fields("a b c d e"), BuildOptions{Tokenizer: "sha256:1"})
	must(t, table, err)
	const first = "a [1 2 0]\nb [0 0 0]\nc [1 2 1]\nd [1 1 0]\ne [1 2 2]\n"
	if got := render(table); got != first {
		t.Errorf("got %q", got)
	}
	if table.Width() != 3 || table.Levels() != 2 || !slices.Equal(table.Vocab(), []int{2, 3, 3}) || table.tokenizer != "sha256:1" {
		t.Errorf("vocabulary %v", table.Vocab())
	}
	if err := table.Add([]uint32{1, 2, 0, 1, 0, 1}, strings.Fields("f g h"), nil); err != nil {
		t.Fatal(err)
	}
	if got := render(table); got != first+"f [1 2 3]\ng [0 1 0]\nh [0 1 1]\n" {
		t.Errorf("got %q", got)
	}
	want := []Version{{Number: 1, Added: 5, Items: 5, LastVocab: 3}, {Number: 2, Added: 3, Items: 8, LastVocab: 4}}
	if !slices.Equal(table.versions, want) || table.Version() != 2 {
		t.Errorf("log %+v", table.versions)
	}
	s := table.Stats()
	before := Collisions{Distinct: 4, Rate: 0.5, Sharing: 0.75, Largest: 4}
	if s.Items != 8 || s.Before != before || s.After != (Collisions{Distinct: 8, Largest: 1}) {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.Groups, []GroupSize{{1, 2}, {2, 1}, {4, 1}}) {
		t.Errorf("groups %v", s.Groups)
	}
	// First codes: 3 zeros and 5 ones of 2.
	perplexity := math.Exp(-(3.0/8*math.Log(3.0/8) + 5.0/8*math.Log(5.0/8)))
	if p := s.Positions; len(p) != 3 || p[0].Utilization != 1 || math.Abs(p[0].Perplexity-perplexity) > 1e-12 || p[2].Utilization != 1 {
		t.Errorf("positions %+v", s.Positions)
	}
}

func TestFingerprint(t *testing.T) {
	of := func(keys string, codes ...uint32) string {
		table, err := Build(codes, []int{2, 3}, strings.Fields(keys), BuildOptions{})
		return must(t, table, err).Fingerprint()
	}
	own := of("a b", 1, 2, 0, 0)
	if of("a b", 1, 2, 0, 0) != own || of("b a", 1, 2, 0, 0) == own || of("a b", 1, 2, 0, 1) == own || of("a b c", 1, 2, 0, 0, 1, 1) == own {
		t.Error("a fingerprint changes with the items and their IDs, and with nothing else")
	}
}

func TestFitting(t *testing.T) {
	build := func(codes []uint32, tokenizer string) *Table {
		table, err := Build(codes, []int{2, 3}, strings.Fields("a b c"), BuildOptions{Tokenizer: tokenizer})
		return must(t, table, err)
	}
	older, later := build([]uint32{1, 2, 0, 0, 1, 2}, "1"), build([]uint32{1, 2, 0, 0, 1, 2}, "1")
	if err := later.Add([]uint32{1, 1}, []string{"d"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Table{older, later} {
		if fitting, err := later.Fitting(of); err != nil || fitting.Len() != 4 {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		table, of *Table
		problem   string
	}{
		{older, later, "items are missing or have other IDs"},
		{later, build([]uint32{1, 2, 0, 0, 1, 1}, "1"), "items are missing or have other IDs"},
		{later, build([]uint32{1, 2, 0, 0, 1, 2}, "2"), "another tokenizer"},
	} {
		_, err := c.table.Fitting(c.of)
		fails(t, err, c.problem)
	}
}

func TestReservedTokens(t *testing.T) {
	table, err := Build([]uint32{0, 0}, []int{1}, []string{"a", "b"}, BuildOptions{TokenVocab: 4})
	must(t, table, err)
	if err := table.Add([]uint32{0}, []string{"c"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := table.versions; got[0].LastVocab != 4 || got[1].LastVocab != 4 {
		t.Errorf("room was reserved, and yet the vocabulary changed: %+v", got)
	}
}

// nearby measures codes by their distance from an item's own.
func nearby(vocab int, own func(item int) uint32) Distances {
	return func(item int, prefix []uint32) []float64 {
		list := make([]float64, vocab)
		for code := range list {
			list[code] = math.Abs(float64(code) - float64(own(item)))
		}
		return list
	}
}

func TestReassignMovesToTheNearestFreeCode(t *testing.T) {
	codes := []uint32{0, 2, 0, 2, 0, 1, 0, 2, 1, 2, 0, 2}
	table, err := Build(codes, []int{2, 4}, strings.Fields("a b c d e f"), BuildOptions{
		Resolve: Reassign, Distances: nearby(4, func(item int) uint32 { return codes[2*item+1] }),
	})
	must(t, table, err)
	// c keeps 1 although b, before it, wants it: own codes come first. Nothing
	// is left for f.
	if got := render(table); got != "a [0 2]\nb [0 3]\nc [0 1]\nd [0 0]\ne [1 2]\nf [0 2]\n" {
		t.Errorf("got %q", got)
	}
	if got := slices.Collect(table.Under([]uint32{0, 2})); !slices.Equal(got, []int{0, 5}) {
		t.Errorf("the shared ID stands for %v", got)
	}
	s := table.Stats()
	if s.Before != (Collisions{Distinct: 3, Rate: 0.5, Sharing: 4.0 / 6, Largest: 4}) || s.After.Distinct != 5 || s.After.Largest != 2 {
		t.Errorf("%+v", s)
	}
	added := []uint32{1, 2, 1, 1}
	if err := table.Add(added, []string{"g", "h"}, nearby(4, func(item int) uint32 { return added[2*item+1] })); err != nil {
		t.Fatal(err)
	}
	if got := render(table); !strings.HasSuffix(got, "f [0 2]\ng [1 3]\nh [1 1]\n") {
		t.Errorf("got %q", got)
	}
	if got := table.versions; got[0].Moved != 2 || got[1] != (Version{Number: 2, Added: 2, Items: 8, LastVocab: 4, Moved: 1}) {
		t.Errorf("log %+v", got)
	}
	if s := table.Stats(); s.Before.Distinct != 4 { // codes of the tokenizer: (0,2), (0,1), (1,2), (1,1)
		t.Errorf("%+v", s.Before)
	}
}

func TestBuildRefusesNonsense(t *testing.T) {
	build := func(codes []uint32, vocab []int, keys string, opt BuildOptions) error {
		_, err := Build(codes, vocab, strings.Fields(keys), opt)
		return err
	}
	fails(t, build(nil, nil, "a", BuildOptions{}), "at least one level")
	fails(t, build(nil, []int{2}, "", BuildOptions{}), "at least one item")
	fails(t, build([]uint32{1}, []int{0}, "a", BuildOptions{}), "vocabulary of 0")
	fails(t, build([]uint32{1, 0, 1}, []int{2, 2}, "a b", BuildOptions{}), "2 items of 2 levels cannot have 3 codes")
	fails(t, build([]uint32{1, 2}, []int{2, 2}, "a", BuildOptions{}), `"a" has code 2 at level 1`)
	fails(t, build([]uint32{1, 0}, []int{2}, "a a", BuildOptions{}), `both called "a"`)
	fails(t, build([]uint32{1}, []int{2}, "a", BuildOptions{Resolve: "luck"}), "--resolve luck")
	fails(t, build([]uint32{1}, []int{2}, "a", BuildOptions{Resolve: Reassign}), "which are near")
	fails(t, build([]uint32{1}, []int{2}, "a", BuildOptions{Resolve: Reassign, TokenVocab: 3}), "--spare 3")
	fails(t, build([]uint32{1}, []int{2}, "a", BuildOptions{TokenVocab: -1}), "--spare -1")
	wrong := func(int, []uint32) []float64 { return []float64{7} }
	fails(t, build([]uint32{1, 1}, []int{2}, "a b", BuildOptions{Resolve: Reassign, Distances: wrong}), "1 distances to 2 last codes")
	_, err := Build([]uint32{1}, []int{2}, []string{""}, BuildOptions{})
	fails(t, err, "item 0 has the name")
	_, err = Build([]uint32{1}, []int{2}, []string{"\xff"}, BuildOptions{})
	fails(t, err, "UTF-8")

	table, err := Build([]uint32{1}, []int{2}, []string{"a"}, BuildOptions{})
	must(t, table, err)
	before := render(table)
	fails(t, table.Add([]uint32{1, 0}, []string{"b", "a"}, nil), `"a" has an ID already`)
	fails(t, table.Add([]uint32{1, 0}, []string{"b", "b"}, nil), `both called "b"`)
	if render(table) != before || table.Version() != 1 {
		t.Error("a failed Add changed the table")
	}
}

func TestLookupsAgainstScans(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		n, vocab := 1+random.IntN(80), []int{1 + random.IntN(4), 1 + random.IntN(4), 1 + random.IntN(4)}
		codes, keys := make([]uint32, 3*n), make([]string, n)
		for i := range codes {
			codes[i] = uint32(random.IntN(vocab[i%3]))
		}
		for i := range keys {
			keys[i] = fmt.Sprint("item", i)
		}
		opt := BuildOptions{Resolve: Resolutions[round%3]}
		opt.Distances = nearby(vocab[2], func(item int) uint32 { return codes[3*item+2] })
		table, err := Build(codes, vocab, keys, opt)
		must(t, table, err)
		for length := range table.Width() + 1 {
			prefix := make([]uint32, length)
			for i := range prefix {
				prefix[i] = uint32(random.IntN(table.Vocab()[i]))
			}
			var want []int
			for row := range n {
				if slices.Equal(table.ID(row)[:length], prefix) {
					want = append(want, row)
				}
			}
			got := slices.Collect(table.Under(prefix))
			if !slices.IsSortedFunc(got, func(a, b int) int { return slices.Compare(table.ID(a), table.ID(b)) }) {
				t.Fatalf("rows %v are not in the order of their IDs", got)
			}
			if table.Count(prefix) != len(want) || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Fatalf("prefix %v: %v, want %v", prefix, got, want)
			}
		}
	}
	table, err := Build([]uint32{1}, []int{2}, []string{"a"}, BuildOptions{})
	must(t, table, err)
	if table.Count([]uint32{1, 1}) != 0 || table.Count([]uint32{1, 0, 0}) != 0 {
		t.Error("an ID of another length or another item was found")
	}
	for range table.Under(nil) {
		break // a caller may stop
	}
}

func TestHundredThousandIDs(t *testing.T) {
	const n = 100_000
	random := rand.New(rand.NewPCG(3, 4))
	codes, keys := make([]uint32, 4*n), make([]string, n)
	for i := range codes {
		codes[i] = uint32(random.IntN(256))
		if i%4 < 3 {
			codes[i] = uint32(random.IntN(24)) // 3.5 million sequences: some are shared
		}
	}
	for i := range keys {
		keys[i] = fmt.Sprintf("B%09d", i)
	}
	vocab := []int{256, 256, 256, 256}
	opt := BuildOptions{Distances: nearby(256, func(item int) uint32 { return codes[4*item+3] })}
	for _, opt.Resolve = range Resolutions {
		half, err := Build(codes[:2*n], vocab, keys[:n/2], opt)
		must(t, half, err)
		old := slices.Clone(half.IDs())
		if err := half.Add(codes[2*n:], keys[n/2:], nearby(256, func(item int) uint32 { return codes[2*n+4*item+3] })); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(half.IDs()[:len(old)], old) {
			t.Error("adding changed IDs in use")
		}
		for row := range n {
			if found := slices.Collect(half.Under(half.ID(row))); len(found) != 1 || found[0] != row {
				t.Fatalf("%s: ID %v of row %d stands for %v", opt.Resolve, half.ID(row), row, found)
			}
			if back, ok := half.Row(keys[row]); !ok || back != row || half.Key(row) != keys[row] {
				t.Fatalf("%s: %q is row %d", opt.Resolve, keys[row], back)
			}
			if !slices.Equal(half.Codes(row), codes[4*row:4*row+4]) {
				t.Fatalf("%s: the codes of row %d were lost", opt.Resolve, row)
			}
		}
		s := half.Stats()
		if s.Before.Largest < 2 || s.Before.Rate <= 0 || s.After != (Collisions{Distinct: n, Largest: 1}) {
			t.Errorf("%s: %+v", opt.Resolve, s)
		}
		t.Logf("%s: %.2f %% of codes collide before, %.2f %% after; last vocabulary %d",
			opt.Resolve, 100*s.Before.Rate, 100*s.After.Rate, half.LastVocab())
	}
}
