package interactions

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
)

// A change of these digests is a change of the built-in data.
func TestShopIsTheSameEverywhere(t *testing.T) {
	s := NewShop(50, 80, 8, 3)
	hash := sha256.New()
	hash.Write([]byte(render(s.Log)))
	hash.Write([]byte(strings.Join(s.Catalogue.Texts(), "\n")))
	for _, x := range s.Vectors {
		hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	if got := hex.EncodeToString(hash.Sum(nil))[:16]; got != "b981c94ca2873ef1" {
		t.Errorf("the shop has digest %s", got)
	}
	larger := NewShop(70, 80, 8, 3)
	if !strings.HasPrefix(render(larger.Log), render(s.Log)) {
		t.Error("more users changed those before them")
	}
	if render(NewShop(50, 80, 8, 4).Log) == render(s.Log) {
		t.Error("the seed changes nothing")
	}
}

func TestShopByName(t *testing.T) {
	const name = "synthetic:shop?users=30&items=40&dim=6&seed=9"
	s, err := OpenShop(name)
	if err != nil {
		t.Fatal(err)
	}
	log := mustOpen(t, name, Options{})
	items, err := ReadItems(t.Context(), name, ItemColumns{})
	if err != nil {
		t.Fatal(err)
	}
	if render(log) != render(s.Log) || log.Path() != name || log.Users() != 30 || items.Len() != 40 || len(s.Vectors) != 240 {
		t.Error("the parts differ from the shop")
	}
	if core := mustOpen(t, name, Options{MinUser: 6}); core.Users() >= 30 || core.Stats().Shortest < 6 {
		t.Errorf("%+v", core.Stats())
	}
	rowsOf(t, items, log)
	for bad, want := range map[string]string{
		"synthetic:mall":            "known: shop",
		"synthetic:shop?rows=3":     `no parameter "rows"`,
		"synthetic:shop?users=0":    "users=0",
		"synthetic:shop?seed=-1":    "seed=-1",
		"synthetic:shop?users=%zz":  "cannot understand",
		"synthetic:shop?items=1e9":  "from 1 to 1000000",
		"synthetic:shop?dim=100000": "from 1 to 4096",
	} {
		_, err := OpenShop(bad)
		wantError(t, err, want)
	}
	tiny := NewShop(3, 1, 1, 1)
	if tiny.Log.Len() != 3 || tiny.Catalogue.Len() != 1 {
		t.Errorf("%+v", tiny.Log.Stats())
	}
}

func TestShopLooksLikeAShop(t *testing.T) {
	s := NewShop(3000, 600, 32, 1)
	stats := s.Log.Stats()
	if stats.Shortest != shortestWalk || stats.MeanLength < 8 || stats.MeanLength > 10 || stats.Items < 570 {
		t.Errorf("%+v", stats)
	}
	for u := range s.Log.Users() {
		bought := slices.Sorted(slices.Values(s.Log.Sequence(u)))
		if len(slices.Compact(bought)) != len(s.Log.Sequence(u)) {
			t.Fatalf("user %d bought a thing twice", u)
		}
	}
	// Zipf: log frequency falls about linearly with log rank.
	counts := make([]int, s.Log.Items())
	for _, item := range s.Log.taken {
		counts[item]++
	}
	sort.Sort(sort.Reverse(sort.IntSlice(counts)))
	slope := math.Log(float64(counts[24])/float64(counts[399])) / math.Log(400.0/25) // past the best of each shelf
	if top := counts[0]; top < 20*counts[len(counts)/2] || slope < 0.7 || slope > 1.3 {
		t.Errorf("the most popular item was bought %d times, the median one %d; slope %.2f", top, counts[len(counts)/2], slope)
	}
	// Embeddings: a topic is closer than a department, that closer than the rest.
	var sums, n [3]float64
	for i := range 600 {
		for j := range i {
			a, b := s.Catalogue.Items[i].Categories, s.Catalogue.Items[j].Categories
			kind := 2
			if a[1] == b[1] {
				kind = 0
			} else if a[0] == b[0] {
				kind = 1
			}
			dot := 0.0
			for k := range 32 {
				dot += float64(s.Vectors[i*32+k]) * float64(s.Vectors[j*32+k])
			}
			sums[kind] += dot
			n[kind]++
		}
	}
	topic, department, rest := sums[0]/n[0], sums[1]/n[1], sums[2]/n[2]
	if !(topic > department+0.2 && department > rest+0.1 && math.Abs(rest) < 0.15) {
		t.Errorf("mean cosines: topic %.2f, department %.2f, else %.2f", topic, department, rest)
	}
}

// hits counts test items among the ten that score best for a user.
func hits(l *Log, score func(history []int32, scores []float64)) float64 {
	scores, found := make([]float64, l.Items()), 0
	for u := range l.Users() {
		history, target, ok := l.Test(u)
		if !ok {
			continue
		}
		clear(scores)
		score(history, scores)
		better := 0
		for _, s := range scores {
			if s >= scores[target] { // ties count against the model
				better++
			}
		}
		if better <= 10 {
			found++
		}
	}
	return float64(found) / float64(l.Users())
}

func TestThereIsSomethingToLearn(t *testing.T) {
	s := NewShop(3000, 600, 32, 1)
	l := s.Log
	popularity := l.TrainCounts()
	follows := make([]map[int32]float64, l.Items()) // item to item, in training
	for u := range l.Users() {
		train := l.Train(u)
		for i := 1; i < len(train); i++ {
			if follows[train[i-1]] == nil {
				follows[train[i-1]] = map[int32]float64{}
			}
			follows[train[i-1]][train[i]]++
		}
	}
	popular := hits(l, func(_ []int32, scores []float64) {
		for i := range scores {
			scores[i] = float64(popularity[i]) + float64(i)*1e-6
		}
	})
	sequential := hits(l, func(history []int32, scores []float64) {
		for i := range scores {
			scores[i] = float64(popularity[i])*1e-4 + float64(i)*1e-9
		}
		for next, count := range follows[history[len(history)-1]] {
			scores[next] += count
		}
		for _, seen := range history {
			scores[seen] = -1
		}
	})
	rows := rowsOf(t, s.Catalogue, l)
	content := hits(l, func(history []int32, scores []float64) { // nearest in embedding
		last := rows[history[len(history)-1]]
		for i := range scores {
			for k := range s.Dim {
				scores[i] += float64(s.Vectors[last*s.Dim+k]) * float64(s.Vectors[rows[i]*s.Dim+k])
			}
		}
		for _, seen := range history {
			scores[seen] = -2
		}
	})
	t.Logf("Recall@10: popularity %.3f, item to item %.3f, content %.3f", popular, sequential, content)
	if sequential < 3*popular || content < 1.3*popular || sequential > 0.9 {
		t.Errorf("Recall@10: popularity %.3f, item to item %.3f, content %.3f", popular, sequential, content)
	}
}
