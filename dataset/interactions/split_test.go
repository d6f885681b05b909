package interactions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestLeaveOneOut(t *testing.T) {
	l := mustOpen(t, writeFile(t, "s.txt", "a 1 2 3 4\nb 1 2\nc 2 1 3\n"), Options{})
	if got := l.Train(0); !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("train %v", got)
	}
	if history, target, ok := l.Validation(0); !ok || target != 2 || !slices.Equal(history, []int32{0, 1}) {
		t.Errorf("validation %v, %d, %v", history, target, ok)
	}
	if history, target, ok := l.Test(0); !ok || target != 3 || !slices.Equal(history, []int32{0, 1, 2}) {
		t.Errorf("test %v, %d, %v", history, target, ok)
	}
	if _, _, ok := l.Test(1); ok || len(l.Train(1)) != 2 {
		t.Error("a user of two items is for training only")
	}
	if got := l.TrainCounts(); !slices.Equal(got, []int{2, 3, 0, 0}) {
		t.Errorf("counts %v", got)
	}
	// Appending to the training items must not overwrite held-out items.
	_ = append(l.Train(0), 99)
	if !slices.Equal(l.Sequence(0), []int32{0, 1, 2, 3}) {
		t.Error("the held-out items were overwritten")
	}
}

func TestRecent(t *testing.T) {
	history := []int32{1, 2, 3}
	for n, want := range map[int]int{-1: 0, 0: 0, 2: 2, 3: 3, 9: 3} {
		if got := Recent(history, n); len(got) != want || want > 0 && got[want-1] != 3 {
			t.Errorf("Recent %d gave %v", n, got)
		}
	}
}

// slowCore drops users and items in whole rounds until nothing changes.
func slowCore(lines [][]string, minUser, minItem int) [][]string {
	for {
		counts, before, after := map[string]int{}, 0, 0
		for _, line := range lines {
			for _, item := range line[1:] {
				counts[item]++
				before++
			}
		}
		var kept [][]string
		for _, line := range lines {
			next := line[:1:1]
			for _, item := range line[1:] {
				if counts[item] >= minItem {
					next = append(next, item)
				}
			}
			if len(next)-1 >= max(1, minUser) {
				kept = append(kept, next)
				after += len(next) - 1
			}
		}
		if lines = kept; before == after {
			return lines
		}
	}
}

func TestCoreAgainstRounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shrunk := 0
	for range 300 {
		var lines [][]string
		var text strings.Builder
		items := 3 + random.IntN(12)
		for u := range 1 + random.IntN(15) {
			line := []string{fmt.Sprint("u", u)}
			for range 1 + random.IntN(8) {
				line = append(line, fmt.Sprint("i", random.IntN(items)*random.IntN(items)/items)) // unequal, with repeats
			}
			lines = append(lines, line)
			text.WriteString(strings.Join(line, " ") + "\n")
		}
		all := mustOpen(t, writeFile(t, "s.txt", text.String()), Options{})
		minUser, minItem := random.IntN(6), random.IntN(6)
		core := all.Core(minUser, minItem)
		var want strings.Builder
		for _, line := range slowCore(lines, minUser, minItem) {
			want.WriteString(strings.Join(line, " ") + "\n")
		}
		if got := render(core); got != want.String() {
			t.Fatalf("core %d, %d of\n%sis\n%swant\n%s", minUser, minItem, text.String(), got, want.String())
		}
		if n := core.Len(); n > 0 && n < all.Len() {
			shrunk++
			if s := core.Stats(); s.Shortest < minUser {
				t.Errorf("%+v", s)
			}
		}
	}
	if shrunk < 50 {
		t.Errorf("only %d cases lost a part", shrunk)
	}
}

func TestPaperStatistics(t *testing.T) {
	// Table "Statistics of the selected sequential recommendation datasets";
	// it cuts mean lengths off after two digits.
	for _, c := range []struct {
		name         string
		users, items int
		mean         string
		interactions int
	}{
		{"amazon-beauty", 22_363, 12_101, "8.87", 198_502},
		{"amazon-sports", 35_598, 18_357, "8.32", 296_337},
		{"amazon-toys", 19_412, 11_924, "8.63", 167_597},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustOpen(t, realData(t, c.name+"/sequences.txt"), Options{MinUser: 5, MinItem: 5})
			s := l.Stats()
			if s.Users != c.users || s.Items != c.items || s.MedianLength != 6 || s.Interactions != c.interactions || s.Shortest != 5 {
				t.Errorf("%+v", s)
			}
			if mean := fmt.Sprint(s.MeanLength)[:4]; mean != c.mean {
				t.Errorf("mean length %s, the paper has %s", mean, c.mean)
			}
			catalogue, err := ReadItems(t.Context(), realData(t, c.name+"/items.jsonl"), ItemColumns{})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rowsOf(t, catalogue, l) {
				if id := l.Item(i); catalogue.Items[row].ID != id || fmt.Sprint(row+1) != id {
					t.Fatalf("item %s is row %d", id, row)
				}
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	for text, want := range map[string]bool{"a 1 2\nb 2 1\n": false, "a 1 2\nb 2 1 2\n": true, "a 1 1\n": true} {
		if got := mustOpen(t, writeFile(t, "s.txt", text), Options{}).Repeats(); got != want {
			t.Errorf("%q repeats: %v", text, got)
		}
	}
}
