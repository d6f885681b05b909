package codes

import (
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainCounts is adaptiveCounts without the tree.
type plainCounts struct {
	counts []uint32
	step   uint32
}

func (p *plainCounts) below(code int) (sum uint32) {
	for _, count := range p.counts[:code] {
		sum += count
	}
	return sum
}

func (p *plainCounts) add(code int) {
	p.counts[code] += p.step
	if p.below(len(p.counts)) > countsLimit {
		for i := range p.counts {
			p.counts[i] -= p.counts[i] / 2
		}
	}
}

func TestAdaptiveCountsMatchPlainOnes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for _, vocab := range []int{1, 2, 3, 7, 8, 100, 129} {
		learned := make([]uint32, vocab)
		for i := range learned {
			learned[i] = random.Uint32N(1000) * random.Uint32N(2)
		}
		for _, start := range [][]uint32{nil, make([]uint32, vocab), learned} {
			c := newAdaptiveCounts(vocab, start)
			plain := plainCounts{step: c.step}
			for code := range vocab {
				plain.counts = append(plain.counts, c.below(code+1)-c.below(code))
				if plain.counts[code] < 1 {
					t.Fatalf("code %d of %d cannot be coded", code, vocab)
				}
			}
			halved := 0
			for range 6000 {
				code, before := random.IntN(vocab), c.total
				if random.IntN(10) > 0 {
					code /= 2
				}
				c.add(code)
				plain.add(code)
				if c.total < before {
					halved++
				}
				if c.total != plain.below(vocab) {
					t.Fatalf("%d codes: total %d, want %d", vocab, c.total, plain.below(vocab))
				}
				place := random.Uint32N(c.total)
				found, below := c.find(place)
				if below != plain.below(found) || place < below || place >= plain.below(found+1) {
					t.Fatalf("%d codes: place %d found code %d above %d, counts %v", vocab, place, found, below, plain.counts)
				}
			}
			if slices.Equal(start, learned) && vocab > 1 && c.step == learnedStep && halved == 0 {
				t.Errorf("%d codes: the counts were never halved", vocab)
			}
		}
	}
}

func TestLearnedCountsDecideTheStart(t *testing.T) {
	c := newAdaptiveCounts(3, []uint32{0, 30, 10})
	// 2^20 shared 0 : 3 : 1, and one each.
	if got := []uint32{c.below(1), c.below(2), c.below(3)}; !slices.Equal(got, []uint32{1, 3<<18 + 2, 1<<20 + 3}) {
		t.Errorf("sums %v", got)
	}
}

// The tables are integers rounded from exponentials and logarithms. If none of
// those is near a half, the last bit of a CPU's arithmetic cannot matter.
func TestLogisticTablesAreTheSameEverywhere(t *testing.T) {
	clear := func(exact float64) bool {
		_, fraction := math.Modf(math.Abs(exact))
		return math.Abs(fraction-0.5) > 1e-9
	}
	sum := crc32.New(castagnoli)
	for x := -logOddsMax; x <= logOddsMax; x++ {
		if !clear(exactSquash(x)) {
			t.Errorf("the probability of log-odds %d is %.12f: its rounding is in doubt", x, exactSquash(x))
		}
		if one := squash(int32(x)); one == 0 || one >= 1<<16 {
			t.Errorf("the probability of log-odds %d is %d", x, one)
		}
		sum.Write([]byte{byte(squash(int32(x))), byte(squash(int32(x)) >> 8)})
	}
	for place := range 1 << 12 {
		if !clear(exactStretch(place)) {
			t.Errorf("the log-odds of place %d are %.12f: their rounding is in doubt", place, exactStretch(place))
		}
		x := stretch(uint32(place << 4))
		sum.Write([]byte{byte(x), byte(x >> 8)})
	}
	if got := sum.Sum32(); got != 0x49ba0deb {
		t.Errorf("the tables have checksum %#x", got)
	}
}

func TestSquashInvertsStretch(t *testing.T) {
	for one := uint32(8); one < 1<<16-8; one += 16 {
		if back := squash(stretch(one)); math.Abs(float64(back)-float64(one)) > 16+float64(one)/256 {
			t.Errorf("%d became %d", one, back)
		}
	}
	if squash(1<<20) != squash(logOddsMax) || squash(-1<<20) != squash(-logOddsMax) {
		t.Error("log-odds out of range")
	}
}

// A mix of an opinion that is right and one that is noise learns to follow the
// first: the cost comes near that of the true probability.
func TestMixLearnsWhomToTrust(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	w := mixWeights{0, mixOne / 2, mixOne / 2}
	var cost, best float64
	const n = 40000
	for i := range n {
		right := int32(random.IntN(2000) - 1000)
		opinions := [mixInputs]int32{0, right, int32(random.IntN(2000) - 1000)}
		p := 1 / (1 + math.Exp(-float64(right)/logOddsUnit))
		bit := uint32(0)
		if random.Float64() < p {
			bit = 1
		}
		one := squash(w.logOdds(&opinions))
		if i >= n/2 {
			cost += coded{bit: bit, one: one}.bits()
			best -= float64(bit)*math.Log2(p) + float64(1-bit)*math.Log2(1-p)
		}
		w.learn(&opinions, bit, one, trainingSlowness)
	}
	if cost/best > 1.01 {
		t.Errorf("cost %.0f bits, %.0f at best, weights %v", cost, best, w)
	}
	if got := float64(w[1]) / mixOne; math.Abs(got-1) > 0.15 || math.Abs(float64(w[2])/mixOne) > 0.15 {
		t.Errorf("weights %v, want 1 and 0", w)
	}
}
