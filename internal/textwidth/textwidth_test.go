package textwidth

import (
	"testing"
	"unicode/utf8"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0}, {"loss", 4}, {"±0.1", 4}, {"µs", 2}, {"…", 1}, {"∞", 1},
		{"e\u0301", 1},            // e + combining acute
		{"日本", 4},                 // CJK
		{"ｆｕ", 4},                 // full-width Latin
		{"한", 2},                  // one Hangul syllable, composed
		{"\u1112\u1161\u11ab", 2}, // the same, decomposed
		{"🚀", 2}, {"a\u200bb", 2}, {"a\tb", 2},
	} {
		if got := Of(c.text); got != c.want {
			t.Errorf("Of(%q) = %d, want %d", c.text, got, c.want)
		}
	}
}

func TestWideBlocksAreSorted(t *testing.T) {
	last := rune(0)
	for _, block := range wide {
		if block[0] <= last || block[1] < block[0] {
			t.Fatalf("block %x is out of order", block)
		}
		last = block[1]
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"codebook", 8, "codebook"}, {"codebook", 7, "codebo…"}, {"codebook", 1, "…"},
		{"codebook", 0, ""}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"日本語", 6, "日本語"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		got := Cut(c.text, c.columns)
		if got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := OneLine("a\x1b[2Jb\nc\td\u0085e\xff"), "a [2Jb c d e\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本 e\u0301 x", 3)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		columns %= 100
		got := Cut(s, columns)
		if w := Of(got); w > max(columns, 0) {
			t.Fatalf("Cut(%q, %d) = %q takes %d columns", s, columns, got, w)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q splits a character", s, columns, got)
		}
	})
}
