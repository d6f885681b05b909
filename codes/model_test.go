package codes

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/safetensors"
)

// meter adds up the cost of bits.
type meter struct{ bits float64 }

func (m *meter) bit(bit, one uint32) uint32 {
	m.bits += coded{bit: bit, one: one}.bits()
	return bit
}

// contextBits is the ideal code length of a level.
func contextBits(m *Model, g plane) float64 {
	var sum meter
	c := newContextCoder(m, g)
	for y := range g.height {
		c.codeRow(&sum, y)
	}
	return sum.bits
}

// markov is a source of grids whose rows are Markov chains: with probability
// keep a code is the one to its left, otherwise it is drawn with weights.
type markov struct {
	keep    float64
	weights []float64 // they sum to 1
}

// newMarkov makes code c as frequent as 1/(c+2).
func newMarkov(vocab int, keep float64) markov {
	m := markov{keep: keep}
	var sum float64
	for code := range vocab {
		m.weights = append(m.weights, 1/float64(code+2))
		sum += m.weights[code]
	}
	for code := range m.weights {
		m.weights[code] /= sum
	}
	return m
}

func (m markov) draw(random *rand.Rand) uint32 {
	at := random.Float64()
	for code, w := range m.weights {
		if at -= w; at < 0 {
			return uint32(code)
		}
	}
	return 0
}

func (m markov) grid(random *rand.Rand, height, width int) CodeMap {
	g := CodeMap{Height: height, Width: width}
	for i := range height * width {
		if i%width > 0 && random.Float64() < m.keep {
			g.Codes = append(g.Codes, g.Codes[i-1])
		} else {
			g.Codes = append(g.Codes, m.draw(random))
		}
	}
	return g
}

// entropy returns the bits of a code alone and given the one to its left.
func (m markov) entropy() (alone, given float64) {
	for left, weight := range m.weights {
		alone -= weight * math.Log2(weight)
		for code, p := range m.weights {
			p *= 1 - m.keep
			if code == left {
				p += m.keep
			}
			given -= weight * p * math.Log2(p)
		}
	}
	return alone, given
}

// line is code vectors on a line.
func line(vocab int) []float32 {
	vectors := make([]float32, vocab)
	for i := range vectors {
		vectors[i] = float32(i)
	}
	return vectors
}

func TestModelComesNearTheEntropyOfItsSource(t *testing.T) {
	const vocab, side = 64, 32
	source := newMarkov(vocab, 0.7)
	random := rand.New(rand.NewPCG(13, 1))
	var train []CodeMap
	for range 60 {
		train = append(train, source.grid(random, side, side))
	}
	model, err := Train(t.Context(), train, []uint32{vocab}, [][]float32{line(vocab)})
	if err != nil {
		t.Fatal(err)
	}
	bits := map[Method]float64{}
	const pictures = 20
	for range pictures {
		g := source.grid(random, side, side)
		for method := range methods {
			e := newRangeEncoder()
			encodePlaneAs(method, e, g.planes(1)[0], vocab, model)
			bits[method] += float64(e.bits()) / (pictures * side * side)
		}
	}
	alone, given := source.entropy()
	best := (given*(side-1) + alone) / side // the first column is drawn afresh
	t.Logf("bits a code: %.3f uniform, %.3f counted (entropy %.3f), %.3f contextual (entropy %.3f)",
		bits[Uniform], bits[Counted], alone, bits[Contextual], best)
	if math.Abs(bits[Uniform]-6) > 0.01 || bits[Counted] > alone*1.03 || bits[Counted] < alone*0.97 || bits[Contextual] > best*1.05 ||
		bits[Contextual] < best*0.97 {
		t.Errorf("bits a code: %v, want 6, %.3f and %.3f", bits, alone, best)
	}
}

// twoLevels makes grids of noisy slopes; the second level is five times the
// first and one of four at random.
func twoLevels(random *rand.Rand, vocab []uint32, height, width int) CodeMap {
	g := CodeMap{Height: height, Width: width}
	slopeY, slopeX, start := random.IntN(5)-2, random.IntN(5)-2, random.IntN(1000)
	for y := range height {
		for x := range width {
			first := uint32(100000+start+slopeY*y+slopeX*x+random.IntN(2)) / 4 % vocab[0]
			g.Codes = append(g.Codes, first, (5*first+random.Uint32N(4))%vocab[1])
		}
	}
	return g
}

func trainTwoLevels(t testing.TB, seed uint64, vocab []uint32) *Model {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	var train []CodeMap
	for range 40 {
		train = append(train, twoLevels(random, vocab, 8+random.IntN(9), 8+random.IntN(9)))
	}
	m, err := Train(t.Context(), train, vocab, [][]float32{line(int(vocab[0])), line(int(vocab[1]))})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSecondLevelIsPredictedFromTheFirst(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 1, vocab)
	random := rand.New(rand.NewPCG(99, 1))
	g := twoLevels(random, vocab, 24, 24)
	first, second := contextBits(m, g.planes(1)[0])/576, contextBits(m, g.planes(1)[1])/576
	if first > 1.5 || second > 2.1 || second < 1.95 {
		t.Errorf("%.2f and %.2f bits a code; the second is one of four given the first", first, second)
	}
}

func TestModelOfLessOrMore(t *testing.T) {
	for name, test := range map[string]struct {
		vocab   []uint32
		vectors [][]float32
		grids   []CodeMap
	}{
		"one code":      {[]uint32{1}, [][]float32{{5}}, []CodeMap{{1, 2, []uint32{0, 0}}}},
		"no grids":      {[]uint32{5}, [][]float32{line(5)}, nil},
		"equal vectors": {[]uint32{4}, [][]float32{make([]float32, 4*20)}, []CodeMap{{1, 3, []uint32{0, 1, 2}}}},
		"code, codes":   {[]uint32{1, 3}, [][]float32{{5}, line(3)}, []CodeMap{{1, 2, []uint32{0, 0, 0, 2}}}},
	} {
		m, err := Train(t.Context(), test.grids, test.vocab, test.vectors)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := NewModel(m.Tensors())
		if err != nil || again.sum != m.sum {
			t.Errorf("%s: not restored: %v", name, err)
		}
		codes := make([]uint32, 12*len(test.vocab))
		for i := range codes {
			codes[i] = uint32(i) % test.vocab[i%len(test.vocab)]
		}
		checkRoundTrip(t, Picture{Width: 4, Height: 3, Factor: 1, Vocab: test.vocab, Codes: codes}, m)
	}
}

func TestTrainErrors(t *testing.T) {
	good := []CodeMap{{1, 2, []uint32{0, 1}}}
	for name, test := range map[string]struct {
		grids   []CodeMap
		vocab   []uint32
		vectors [][]float32
		want    string
	}{
		"no levels":     {nil, nil, nil, "1 to 256 levels"},
		"vectors":       {good, []uint32{2}, nil, "code vectors of each"},
		"short vectors": {good, []uint32{2}, [][]float32{{1, 2, 3}}, "3 numbers are not vectors of 2 codes"},
		"no numbers":    {good, []uint32{2}, [][]float32{{}}, "0 numbers"},
		"not finite":    {good, []uint32{2}, [][]float32{{1, float32(math.NaN())}}, "vector of code 1 holds NaN"},
		"outside":       {good, []uint32{1}, [][]float32{{1}}, "training grid 0: row 0, column 1, level 0: code 1 is outside"},
		"codes missing": {[]CodeMap{{2, 2, []uint32{0, 1}}}, []uint32{2}, [][]float32{{1, 2}}, "need 4 codes, not 2"},
		"no cells":      {[]CodeMap{{0, 2, nil}}, []uint32{2}, [][]float32{{1, 2}}, "no grid"},
		"vocabulary":    {nil, []uint32{1 << 21}, [][]float32{nil}, "vocabulary of 2097152"},
	} {
		if _, err := Train(t.Context(), test.grids, test.vocab, test.vectors); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Train(ctx, good, []uint32{2}, [][]float32{{1, 2}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestModelIsRestored(t *testing.T) {
	m := trainTwoLevels(t, 3, []uint32{32, 16})
	tensors := m.Tensors()
	slices.Reverse(tensors)
	var file bytes.Buffer
	if err := safetensors.Encode(&file, tensors, nil); err != nil {
		t.Fatal(err)
	}
	stored, err := safetensors.Decode(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewModel(stored.Tensors)
	if err != nil {
		t.Fatal(err)
	}
	if again.sum != m.sum || !slices.Equal(again.Vocab(), []uint32{32, 16}) {
		t.Errorf("restored a model of %v with another checksum", again.Vocab())
	}
	g := twoLevels(rand.New(rand.NewPCG(4, 1)), []uint32{32, 16}, 10, 10)
	for level := range 2 {
		if a, b := contextBits(m, g.planes(1)[level]), contextBits(again, g.planes(1)[level]); a != b {
			t.Errorf("level %d takes %g bits, %g with the restored model", level, a, b)
		}
	}
}

func TestNewModelFindsDamage(t *testing.T) {
	m := trainTwoLevels(t, 3, []uint32{32, 16})
	named := func(name string, change func(t *safetensors.Tensor)) []safetensors.Tensor {
		tensors := m.Tensors()
		for i := range tensors {
			if tensors[i].Name == name {
				change(&tensors[i])
			}
		}
		return tensors
	}
	cut := func(t *safetensors.Tensor) { t.Data, t.Shape[0] = t.Data[:len(t.Data)-1], t.Shape[0]-1 }
	for name, test := range map[string]struct {
		tensors []safetensors.Tensor
		want    string
	}{
		"nothing":       {nil, "0 tensors of 0 levels"},
		"one missing":   {m.Tensors()[1:], "21 tensors of 1 levels"},
		"one repeated":  {append(m.Tensors()[1:], m.Tensors()[20]), "22 tensors of 1 levels"},
		"another name":  {named("level1/left", func(t *safetensors.Tensor) { t.Name = "level1/right" }), "level 1: left is missing"},
		"another level": {named("level1/counts", func(t *safetensors.Tensor) { t.Name = "level7/counts" }), "level 1: counts is missing"},
		"another type": {named("level0/depth", func(t *safetensors.Tensor) { t.DType = safetensors.I8 }),
			"depth is missing or not U8 [32]: it is I8 [32]"},
		"short table": {named("level0/place", cut), "place is missing or not I8"},
		"short depth": {named("level0/depth", cut), "depth is missing or not U8"},
		"short data":  {named("level0/above", func(t *safetensors.Tensor) { t.Data = t.Data[1:] }), "above is missing"},
		"no tree":     {named("level0/depth", func(t *safetensors.Tensor) { t.Data[3]++ }), "tree"},
		"order":       {named("level0/order", func(t *safetensors.Tensor) { t.Data[2] = 1 }), "each once"},
		"wide vectors": {named("level1/vectors", func(t *safetensors.Tensor) {
			t.Shape, t.Data = []int{16, 9}, make([]byte, 16*9)
		}), "vectors of 9 numbers"},
		"flat vectors": {named("level1/vectors", func(t *safetensors.Tensor) { t.Shape = []int{16} }), "vectors is missing"},
		"other counts": {named("level0/counts", func(t *safetensors.Tensor) { clear(t.Data) }), "is missing or not I8"},
	} {
		if _, err := NewModel(test.tensors); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// However much it is trained with, a model of 16,384 codes takes less than a
// mebibyte.
func TestModelStaysSmall(t *testing.T) {
	const vocab = 16384
	random := rand.New(rand.NewPCG(17, 1))
	level := &levelModel{counts: make([]uint32, vocab), vectors: make([]int8, vocab*vectorWidth), weights: make([]mixWeights, maxDepth)}
	for i := range level.counts {
		level.counts[i] = random.Uint32N(math.MaxUint16)
	}
	for i := range level.vectors {
		level.vectors[i] = int8(random.IntN(256) - 128)
	}
	level.tree = buildTree(level.vectors, vectorWidth, level.counts)
	newLearner(level.derive()).finish(level)
	level.setRegression(make([]int16, features(level, slices.Repeat([]outside{{of: level}}, 5))*vectorWidth))
	size := 0
	for _, tensor := range (&Model{levels: []*levelModel{level}}).Tensors() {
		size += len(tensor.Data)
	}
	if size > 1<<20 || size < 1<<19 {
		t.Errorf("a model of %d codes takes %d bytes", vocab, size)
	}
}

// FuzzNewModel checks that tensors with any values are refused or make a model
// that reads its own files.
func FuzzNewModel(f *testing.F) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(f, 1, vocab)
	g := twoLevels(rand.New(rand.NewPCG(6, 6)), vocab, 6, 6)
	p := Picture{Width: 6, Height: 6, Factor: 1, Vocab: vocab, Codes: g.Codes}
	for i := range m.Tensors() {
		f.Add(uint8(i), uint16(i), []byte{0xff, 0x7f, 0x80})
	}
	f.Add(uint8(5), uint16(0), bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x7f}, 64))
	f.Fuzz(func(t *testing.T, tensor uint8, at uint16, values []byte) {
		tensors := m.Tensors()
		data := tensors[int(tensor)%len(tensors)].Data
		copy(data[int(at)%len(data):], values)
		damaged, err := NewModel(tensors)
		if err != nil {
			return
		}
		if damaged.sum == m.sum && !bytes.Equal(toBytes(damaged.levels[0].tree.path), toBytes(m.levels[0].tree.path)) {
			t.Error("another model with the same checksum")
		}
		checkRoundTrip(t, p, damaged)
	})
}
