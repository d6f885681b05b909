package twotower

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/task/recommend/network"
)

func TestConfigIsStrictYAML(t *testing.T) {
	c := Default()
	text, err := config.Render(c)
	if err != nil {
		t.Fatal(err)
	}
	back := Config{}
	if err := config.Decode(text, &back); err != nil || back != c {
		t.Errorf("%v: %+v came back as %+v", err, c, back)
	}
}

func TestValidate(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(c *Config){
		"model.layers":       func(c *Config) { c.Layers = 0 },
		"model.item_layers":  func(c *Config) { c.ItemLayers = -1 },
		"model.length":       func(c *Config) { c.Length = 0 },
		"model.word_buckets": func(c *Config) { c.WordBuckets = 0 },
		"model.pool":         func(c *Config) { c.Pool = "last" },
		"model.similarity":   func(c *Config) { c.Similarity = "euclidean" },
		"model.temperature":  func(c *Config) { c.Temperature = -1 },
		"model.dropout":      func(c *Config) { c.Dropout = math.NaN() },
		"model.norm":         func(c *Config) { c.Norm = "batch" },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	for _, vocab := range [][]int{nil, {3, 0}, {1 << 30, 1 << 30, 1 << 30}} {
		if _, err := New(Default(), Histories, vocab, Start{}); err == nil {
			t.Errorf("a vocabulary of %v was accepted", vocab)
		}
	}
}

// The paper's towers over four levels of 256 codes.
func TestPaperSize(t *testing.T) {
	m, err := New(Default(), Histories, []int{256, 256, 256, 256}, Start{})
	if err != nil {
		t.Fatal(err)
	}
	// Blocks of attention 4·128·128, feed-forward 2·128·512 and two norms with
	// biases; a norm at the end of a tower; 21 places; a start; three projections,
	// one of them of four codes; the temperature.
	tower := 2*(4*128*128+2*128*512+2*2*128) + 2*128
	want := 1024*128 + 2*tower + 21*128 + 128 + 2*128*128 + 4*128*128 + 1
	if got := m.Init(1).Count(); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

func flat[T int32 | float32](t *testing.T, x *tensors.Tensor) []T {
	t.Helper()
	values, err := tensors.CopyFlatData[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// A history is read from its latest item back, position by position; words are
// read from the first. Items that answer a query too, that are the same or share
// an ID are nobody's rivals.
func TestBatch(t *testing.T) {
	c := tiny()
	c.Length = 8
	m := newModel(t, c, Histories)
	items, err := network.NewItems([]uint32{0, 0, 0, 3, 2, 4, 1, 1, 1, 3, 2, 4}, tinyVocab) // the last has the ID of the second
	if err != nil {
		t.Fatal(err)
	}
	examples := []network.Example{example(1, 0, 2, 1), example(0, 2), example(3), example(2, 1)}
	examples[1].Relevant = []int32{0, 2}
	inputs := newBatch(t, m, items, examples, -1, -2, -3, -4)
	// Codes of the three positions are tokens from 0, 4 and 7 on; there is room
	// for four items.
	want := []int32{
		3, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0,
		6, 5, 4, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0,
		11, 8, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0,
	}
	if got := flat[int32](t, inputs[0]); !slices.Equal(got, want) || !slices.Equal(inputs[0].Shape().Dimensions, []int{3, 4, 4}) {
		t.Errorf("tokens %v of shape %v", got, inputs[0].Shape())
	}
	if got := flat[int32](t, inputs[1]); !slices.Equal(got, []int32{3, 1, 0, 1}) {
		t.Errorf("lengths %v", got)
	}
	if got := flat[int32](t, inputs[2]); !slices.Equal(got, []int32{3, 6, 11, 0, 4, 7, 3, 6, 11, 1, 5, 8}) {
		t.Errorf("targets %v", got)
	}
	if got := flat[float32](t, inputs[3]); !slices.Equal(got, []float32{-1, -2, -3, -4}) {
		t.Errorf("shares %v", got)
	}
	rivals := []float32{
		1, 1, 0, 1, // the third target has the same ID
		1, 1, 1, 0, // the last target answers the second query too
		0, 1, 1, 1,
		1, 1, 1, 1,
	}
	if got := flat[float32](t, inputs[4]); !slices.Equal(got, rivals) {
		t.Errorf("rivals %v", got)
	}
	words := newModel(t, c, Words)
	long := example(0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	inputs = newBatch(t, words, items, []network.Example{long})
	if got, want := flat[int32](t, inputs[0]), words.Words(long.Text)[:8]; !slices.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
}

func TestBatchErrors(t *testing.T) {
	m := newModel(t, tiny(), Histories)
	items := catalogue(t, 20)
	batch := func(items *network.Items, examples ...network.Example) error {
		_, err := m.Batch(items, examples, make([]float32, len(examples)), nil)
		return err
	}
	short, err := network.NewItems([]uint32{0, 0}, []int{4, 3})
	if err != nil {
		t.Fatal(err)
	}
	for what, run := range map[string]func() error{
		"no examples":       func() error { return batch(items) },
		"an unknown target": func() error { return batch(items, example(20)) },
		"a negative target": func() error { return batch(items, example(-1)) },
		"an unknown item":   func() error { return batch(items, example(0, 20)) },
		"shorter IDs":       func() error { return batch(short, example(0)) },
		"a negative request": func() error {
			_, err := newRetriever(t, m, m.Init(1), items, network.Options{}).Top(t.Context(), nil, 0)
			return err
		},
	} {
		if run() == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Words are letters and digits without regard to case, the same word the same
// token, and spread over the buckets.
func TestWords(t *testing.T) {
	m := newModel(t, tiny(), Words)
	a, b := m.Words("Crème-brûlée  No.5, crème"), m.Words("crème brûlée no 5 CRÈME")
	if len(a) != 5 || !slices.Equal(a, b) || a[0] != a[4] {
		t.Errorf("%v and %v", a, b)
	}
	if got := m.Words(" ,;- "); len(got) != 0 {
		t.Errorf("no words became %v", got)
	}
	counts := make([]int, m.Config.WordBuckets)
	for i := range 6000 {
		counts[m.Words("w" + strings.Repeat("x", i/100) + string(rune('a'+i%26)) + string(rune('a'+i%100/4)))[0]]++
	}
	if slices.Min(counts) == 0 {
		t.Errorf("some buckets stay empty: %v", counts)
	}
}

// Any text is words within the buckets.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"coconut oil", "", "\xff\xfe", "日本 語", "a\x00b"} {
		f.Add(text)
	}
	m, err := New(tiny(), Words, tinyVocab, Start{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query := m.Words(text)
		if len(query) > len(text) {
			t.Errorf("%q has %d words", text, len(query))
		}
		for _, word := range query {
			if word < 0 || int(word) >= m.Config.WordBuckets {
				t.Errorf("%q has word %d of %d", text, word, m.Config.WordBuckets)
			}
		}
	})
}
