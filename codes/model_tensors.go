package codes

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/safetensors"
)

// Tensors returns the model as named arrays of integers, to be stored: for each
// level i
//
//	level<i>/counts      U16 [K]          how often training pictures had a code
//	level<i>/order       U32 [K]          the leaves of the tree of codes
//	level<i>/depth       U8  [K]          the depth of each code in it
//	level<i>/vectors     I8  [K,width]    short code vectors
//	level<i>/regression  I16 [rows,width] factors that predict them
//	level<i>/weights     I32 [32,8]       of the opinions, by depth
//	level<i>/<context>   I8  [cells]      opinions: left, above, corner, place, predicted
//
// and, for cells in phases, whose levels come phase after phase,
//
//	phases               U8  [1]          2 or 4
//
// A level of 16,384 codes takes at most 0.9 MB, one of 1,024 codes 0.7 MB.
func (m *Model) Tensors() []safetensors.Tensor {
	var list []safetensors.Tensor
	if m.phases > 1 {
		list = append(list, safetensors.Tensor{Name: phasesTensor, DType: safetensors.U8, Shape: []int{1}, Data: []byte{byte(m.phases)}})
	}
	for i, level := range m.levels {
		add := func(name string, dtype safetensors.DType, data []byte, shape ...int) {
			list = append(list, safetensors.Tensor{Name: fmt.Sprintf("level%d/%s", i, name), DType: dtype, Shape: shape, Data: data})
		}
		vocab := len(level.counts)
		add("counts", safetensors.U16, packCounts(level.counts), vocab)
		add("order", safetensors.U32, toBytes(level.tree.order), vocab)
		add("depth", safetensors.U8, slices.Clone(level.tree.depth), vocab)
		add("vectors", safetensors.I8, toBytes(level.vectors), vocab, level.width)
		add("regression", safetensors.I16, toBytes(level.regression), len(level.regression)/level.width, level.width)
		var weights []int32
		for _, w := range level.weights {
			weights = append(weights, w[:]...)
		}
		add("weights", safetensors.I32, toBytes(weights), maxDepth, mixInputs)
		for context, table := range level.tables {
			add(contextNames[context], safetensors.I8, toBytes(table), len(table))
		}
	}
	return list
}

// NewModel rebuilds a model from its tensors, in any order. It fails on
// tensors that are missing, strange or not from Train.
func NewModel(tensors []safetensors.Tensor) (*Model, error) {
	byName := map[string]safetensors.Tensor{}
	m := &Model{phases: 1}
	levels, others := 0, 0
	for _, t := range tensors {
		byName[t.Name] = t
		if t.Name == phasesTensor && len(t.Data) == 1 {
			m.phases, others = int(t.Data[0]), 1
		}
		if strings.HasSuffix(t.Name, "/counts") {
			levels++
		}
	}
	if levels == 0 || levels > MaxPictureLevels*m.phases || len(tensors) != levels*tensorsPerLevel+others {
		return nil, fmt.Errorf("%d tensors of %d levels are not a model of codes: a level has %d", len(tensors), levels, tensorsPerLevel)
	}
	if ownSteps[m.phases] == ([4]step{}) || levels%m.phases != 0 {
		return nil, fmt.Errorf("the model of codes is damaged: %d levels in %d phases", levels, m.phases)
	}
	m.perPhase = levels / m.phases
	for i := range levels {
		level, err := m.readLevel(i, byName)
		if err != nil {
			return nil, fmt.Errorf("the model of codes is damaged: level %d: %w", i, err)
		}
		m.levels = append(m.levels, level)
	}
	m.seal()
	return m, nil
}

const (
	tensorsPerLevel = 6 + learnedContexts
	phasesTensor    = "phases"
)

// seal computes the model's checksum.
func (m *Model) seal() {
	hash := sha256.New()
	for _, t := range m.Tensors() {
		fmt.Fprintf(hash, "%s %s %v\n", t.Name, t.DType, t.Shape)
		hash.Write(t.Data)
	}
	hash.Sum(m.sum[:0])
}

// readLevel checks and unpacks the tensors of a level.
func (m *Model) readLevel(index int, byName map[string]safetensors.Tensor) (*levelModel, error) {
	var failed error
	get := func(name string, dtype safetensors.DType, shape ...int) []byte {
		t, ok := byName[fmt.Sprintf("level%d/%s", index, name)]
		size := dtype.Size()
		for i, n := range shape {
			if n < 0 && i < len(t.Shape) {
				n = max(1, t.Shape[i]) // any number
				shape[i] = n
			}
			size *= n
		}
		if failed == nil && (!ok || t.DType != dtype || !slices.Equal(t.Shape, shape) || len(t.Data) != size) {
			failed = fmt.Errorf("%s is missing or not %s %v: it is %s %v", name, dtype, shape, t.DType, t.Shape)
		}
		if failed != nil {
			return nil
		}
		return t.Data
	}
	level := &levelModel{counts: unpackCounts(get("counts", safetensors.U16, -1))}
	vocab := len(level.counts)
	if failed == nil && vocab > MaxPictureVocab {
		failed = fmt.Errorf("%d codes are more than %d", vocab, MaxPictureVocab)
	}
	order, depth := fromBytes[uint32](get("order", safetensors.U32, vocab)), get("depth", safetensors.U8, vocab)
	level.vectors = fromBytes[int8](get("vectors", safetensors.I8, vocab, -1))
	if failed != nil {
		return nil, failed
	}
	if level.width = len(level.vectors) / vocab; level.width > vectorWidth {
		return nil, fmt.Errorf("vectors of %d numbers, not 1 to %d", level.width, vectorWidth)
	}
	var err error
	if level.tree, err = newCodeTree(order, slices.Clone(depth)); err != nil {
		return nil, err
	}
	fineCells, coarseCells := level.derive()
	outside := m.outsides(index/m.perPhase, index%m.perPhase)
	level.setRegression(fromBytes[int16](get("regression", safetensors.I16, features(level, outside), level.width)))
	weights := fromBytes[int32](get("weights", safetensors.I32, maxDepth, mixInputs))
	for context, name := range contextNames {
		cells := fineCells
		if context == placeContext || context == predictedContext {
			cells = coarseCells
		}
		level.tables[context] = fromBytes[int8](get(name, safetensors.I8, cells))
	}
	if failed != nil {
		return nil, failed
	}
	level.weights = make([]mixWeights, maxDepth)
	for i := range level.weights {
		copy(level.weights[i][:], weights[i*mixInputs:])
	}
	return level, nil
}

// toBytes stores integers in their own width.
func toBytes[T int8 | int16 | int32 | uint32](values []T) []byte {
	data, _ := binary.Append(nil, binary.LittleEndian, values) // fixed-size values cannot fail
	return data
}

// fromBytes is the inverse of toBytes.
func fromBytes[T int8 | int16 | int32 | uint32](data []byte) []T {
	values := make([]T, len(data)/binary.Size(T(0)))
	_, _ = binary.Decode(data, binary.LittleEndian, values)
	return values
}

// packCounts stores counts in 16 bits, which Train keeps them below.
func packCounts(counts []uint32) []byte {
	data := make([]byte, 0, 2*len(counts))
	for _, v := range counts {
		data = binary.LittleEndian.AppendUint16(data, uint16(v))
	}
	return data
}

func unpackCounts(data []byte) []uint32 {
	counts := make([]uint32, len(data)/2)
	for i := range counts {
		counts[i] = uint32(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return counts
}
