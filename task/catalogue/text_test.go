package catalogue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/safetensors"
)

// encode fits an encoder to texts and returns their vectors.
func encode(texts []string, dim int) ([]float32, error) {
	e, err := FitText(texts, dim)
	if err != nil {
		return nil, err
	}
	return e.Encode(texts), nil
}

func cosine(vectors []float32, dim, i, j int) float64 {
	dot := 0.0
	for k := range dim {
		dot += float64(vectors[i*dim+k]) * float64(vectors[j*dim+k])
	}
	return dot
}

var titles = []string{
	"Red nail polish", "Blue nail polish", "Nail polish remover", "Glitter nail lacquer polish",
	"Coconut hair oil", "Argan hair oil", "Hair shampoo with coconut", "Argan shampoo for hair",
	"Makeup brush", "Foundation makeup brush", "Powder brush", "Brush cleaner",
}

func TestTextVectorsBringTopicsTogether(t *testing.T) {
	const dim = 5
	vectors, err := encode(titles, dim)
	if err != nil || len(vectors) != len(titles)*dim {
		t.Fatal(len(vectors), err)
	}
	inside, outside := 1.0, -1.0 // the farthest of one topic, the closest of two
	for i := range titles {
		if norm := cosine(vectors, dim, i, i); math.Abs(norm-1) > 1e-6 {
			t.Errorf("%q has norm %g", titles[i], norm)
		}
		for j := range i {
			if c := cosine(vectors, dim, i, j); i/4 == j/4 {
				inside = min(inside, c)
			} else {
				outside = max(outside, c)
			}
		}
	}
	if inside <= outside {
		t.Errorf("titles of one topic are as far as %.2f, of two as close as %.2f", inside, outside)
	}
	again, err := encode(titles, dim)
	if err != nil || !slices.Equal(again, vectors) {
		t.Error("the same titles gave other vectors")
	}
}

func TestEncoderTakesNewTexts(t *testing.T) {
	e, err := FitText(titles, 5)
	if err != nil {
		t.Fatal(err)
	}
	got := e.Encode([]string{"RED, nail-polish!", "nothing known", "", "Unheard Argan oil"})
	if want := e.Encode(titles[:1]); !slices.Equal(got[:5], want) || e.Dim() != 5 {
		t.Errorf("%v and %v for the same words", got[:5], want)
	}
	if !slices.Equal(got[5:15], make([]float32, 10)) {
		t.Errorf("texts without known words are %v", got[5:15])
	}
	own := e.Encode([]string{"Argan oil"})
	if !slices.Equal(got[15:], own) {
		t.Error("an unknown word changed the vector")
	}
}

func TestTextVectorsOfLittle(t *testing.T) {
	vectors, err := encode([]string{"one word", "one word", "another"}, 8)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(cosine(vectors, 8, 0, 1)-1) > 1e-6 || math.Abs(cosine(vectors, 8, 0, 2)) > 1e-6 {
		t.Errorf("%v", vectors)
	}
	for _, x := range vectors {
		if x != x {
			t.Fatal("NaN")
		}
	}
	for j := 2; j < 8; j++ { // two different texts span two dimensions
		if vectors[j] != 0 {
			t.Errorf("dimension %d holds %g", j, vectors[j])
		}
	}
	_, err = encode(nil, 3)
	fails(t, err, "at least one text")
	_, err = encode([]string{"a"}, 0)
	fails(t, err, "one dimension")
	_, err = encode([]string{"--", ""}, 2)
	fails(t, err, "none of 2 texts has a word")
}

// On real titles, items that a user took one after the other must be closer than
// random ones.
func TestTextVectorsOnRealTitles(t *testing.T) {
	root := os.Getenv("GRITVQ_DATA")
	if root == "" {
		t.Skip("set GRITVQ_DATA to a directory with recsys/amazon-beauty")
	}
	dir := filepath.Join(root, "recsys", "amazon-beauty")
	items, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
	if err != nil {
		t.Skip("GRITVQ_DATA has no recsys/amazon-beauty/items.jsonl")
	}
	sequences, err := os.ReadFile(filepath.Join(dir, "sequences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string // in the order of ids, from 1
	for line := range strings.Lines(string(items)) {
		_, rest, _ := strings.Cut(line, `"title": "`)
		title, rest, _ := strings.Cut(rest, `", "categories": [[`)
		category, _, _ := strings.Cut(rest, "]")
		texts = append(texts, title+" "+category)
	}
	const dim = 128
	vectors, err := encode(texts, dim)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	closer, pairs := 0.0, 0.0
	for line := range strings.Lines(string(sequences)) {
		ids := strings.Fields(line)[1:]
		var a, b int
		fmt.Sscan(ids[0], &a)
		fmt.Sscan(ids[1], &b)
		switch near, far := cosine(vectors, dim, a-1, b-1), cosine(vectors, dim, a-1, random.IntN(len(texts))); {
		case near > far:
			closer++
		case near == far:
			closer += 0.5
		}
		pairs++
	}
	t.Logf("neighbours are closer than random items in %.1f %% of %.0f pairs", 100*closer/pairs, pairs)
	if closer/pairs < 0.6 {
		t.Errorf("neighbours are closer in %.1f %% of pairs only", 100*closer/pairs)
	}
}

func TestStoredEncoderIsTheSame(t *testing.T) {
	e, err := FitText(titles, 5)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "titles.safetensors")
	if err := e.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := LoadText(path)
	if err != nil {
		t.Fatal(err)
	}
	later := append(slices.Clone(titles), "Argan hair brush", "unheard of")
	if !slices.Equal(e.Encode(later), again.Encode(later)) || again.Dim() != 5 {
		t.Error("the stored encoder gives other vectors")
	}
}

func TestDamagedEncoders(t *testing.T) {
	ones := func(name string, shape ...int) safetensors.Tensor {
		n := 1
		for _, size := range shape {
			n *= size
		}
		return safetensors.FromFloat32(name, shape, slices.Repeat([]float32{1}, n))
	}
	buckets := func(values ...int64) safetensors.Tensor {
		return safetensors.FromInt64("buckets", []int{len(values)}, values)
	}
	for want, list := range map[string][]safetensors.Tensor{
		"buckets":       {ones("axes", 2, 3), ones("rarity", 2)},
		"do not agree":  {ones("axes", 2, 3), ones("rarity", 3), buckets(1, 2)},
		"two words":     {ones("axes", 2, 3), ones("rarity", 2), buckets(1, 1)},
		"has bucket -1": {ones("axes", 2, 3), ones("rarity", 2), buckets(1, -1)},
	} {
		path := filepath.Join(t.TempDir(), "e.safetensors")
		if err := safetensors.Write(path, list, nil); err != nil {
			t.Fatal(err)
		}
		_, err := LoadText(path)
		fails(t, err, want)
	}
}

// Films are near others of their topic, which share stems but hardly words, and not near those of their year.
func TestYearsAndEndings(t *testing.T) {
	topics := [][]string{
		{"train", "trains", "training", "trainers"}, {"road", "roads", "roadside", "roadies"},
		{"garden", "gardens", "gardening", "gardeners"}, {"storm", "storms", "stormy", "storming"},
	}
	rest := []string{"night", "white", "long", "last", "sweet", "blue"}
	var films []string
	var topicOf, yearOf []int
	for i := range 48 {
		topic, year := i%4, i/4%3
		films = append(films, fmt.Sprintf("The %s %s (%d)", rest[i*7%6], topics[topic][i/4%4], 1995+2*year))
		topicOf, yearOf = append(topicOf, topic), append(yearOf, year)
	}
	const dim = 12
	vectors, err := encode(films, dim)
	if err != nil {
		t.Fatal(err)
	}
	var sums [2][2]float64 // by same topic, same year
	var pairs [2][2]float64
	same := func(of []int, i, j int) int {
		if of[i] == of[j] {
			return 1
		}
		return 0
	}
	for i := range films {
		for j := range i {
			a, b := same(topicOf, i, j), same(yearOf, i, j)
			sums[a][b] += cosine(vectors, dim, i, j)
			pairs[a][b]++
		}
	}
	topic, year, neither := sums[1][0]/pairs[1][0], sums[0][1]/pairs[0][1], sums[0][0]/pairs[0][0]
	if topic < neither+0.1 || year > neither+0.05 {
		t.Errorf("a topic in common makes %.3f, a year %.3f, nothing %.3f", topic, year, neither)
	}
}

// An encoder of earlier versions knows words alone, in fewer buckets.
func TestOlderEncoder(t *testing.T) {
	const bucketOfOil, bucketOf100 = 0x4ec2, 0x2464 // 64-bit FNV-1a of oil and 100, both halves folded, modulo 1 << 16
	path := filepath.Join(t.TempDir(), "old.safetensors")
	err := safetensors.Write(path, []safetensors.Tensor{
		safetensors.FromFloat32("axes", []int{2, 2}, []float32{1, 0, 0, 1}),
		safetensors.FromInt64("buckets", []int{2}, []int64{bucketOfOil, bucketOf100}),
		safetensors.FromFloat32("rarity", []int{2}, []float32{3, 4}),
	}, map[string]string{"format": "text encoder"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := LoadText(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Encode([]string{"Oil 100", "oils", "oil"}); !slices.Equal(got, []float32{0.6, 0.8, 0, 0, 1, 0}) {
		t.Errorf("got %v", got)
	}
	again := filepath.Join(t.TempDir(), "again.safetensors")
	if err := e.Save(again); err != nil {
		t.Fatal(err)
	}
	if e, err = LoadText(again); err != nil || !slices.Equal(e.Encode([]string{"Oil 100"}), []float32{0.6, 0.8}) {
		t.Errorf("stored again it differs (%v)", err)
	}
}
