package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

const (
	weightsPrefix  = "weights/"
	codebookPrefix = "codebook/"
	usagePrefix    = "usage/"
	entropyPrefix  = "entropy/"
)

func (b *Bundle) writeModel(path string) error {
	return safetensors.Write(path, b.tensors(), map[string]string{"format": "pt"})
}

func (b *Bundle) tensors() []safetensors.Tensor {
	var list []safetensors.Tensor
	for _, p := range b.Weights.Paths() {
		list = append(list, safetensors.FromFloat32(weightsPrefix+p, b.Weights[p].Shape, b.Weights[p].Data))
	}
	for i, book := range b.Codebooks {
		list = append(list, safetensors.FromFloat32(fmt.Sprintf("%s%d", codebookPrefix, i), book.Shape, book.Data))
	}
	for i, counts := range b.Usage {
		list = append(list, safetensors.FromInt64(fmt.Sprintf("%s%d", usagePrefix, i), []int{len(counts)}, counts))
	}
	if b.Entropy != nil {
		for _, t := range b.Entropy.Tensors() {
			t.Name = entropyPrefix + t.Name
			list = append(list, t)
		}
	}
	return list
}

// readModel fills in the arrays of b.Tokenizer and checks them.
func (b *Bundle) readModel(path string) error {
	file, err := safetensors.Read(path)
	if err != nil {
		return err
	}
	slots := b.Tokenizer.Quantizer.Layout().Slots()
	b.Weights = weights.Set{}
	b.Codebooks, b.Usage = make([]*weights.Array, slots), make([][]int64, slots)
	var entropy []safetensors.Tensor
	for _, t := range file.Tensors {
		if name, ok := strings.CutPrefix(t.Name, entropyPrefix); ok {
			t.Name = name
			entropy = append(entropy, t)
		} else if err := b.take(t); err != nil {
			return err
		}
	}
	if entropy != nil {
		if b.Entropy, err = codes.NewModel(entropy); err != nil {
			return fmt.Errorf("its model of codes: %w", err)
		}
	}
	return b.check()
}

// take stores a tensor of the model file in its place.
func (b *Bundle) take(t safetensors.Tensor) (err error) {
	prefix, rest, _ := strings.Cut(t.Name, "/")
	prefix += "/"
	position := 0
	if prefix == codebookPrefix || prefix == usagePrefix {
		if position, err = strconv.Atoi(rest); err != nil || position < 0 || position >= len(b.Codebooks) {
			return fmt.Errorf("%s holds %q, the tokenizer has %d code positions", ModelFile, t.Name, len(b.Codebooks))
		}
	}
	if prefix == usagePrefix {
		b.Usage[position], err = t.Int64()
		return err
	}
	values, err := t.Float32()
	if err != nil {
		return err
	}
	array := &weights.Array{Shape: t.Shape, Data: values}
	switch prefix {
	case codebookPrefix:
		b.Codebooks[position] = array
	case weightsPrefix:
		b.Weights[rest] = array
	default:
		return fmt.Errorf("%s holds %q, which no bundle of schema %d has", ModelFile, t.Name, Kind.Schema)
	}
	return nil
}

// check compares the arrays with the configuration.
func (b *Bundle) check() error {
	layout := b.Tokenizer.Quantizer.Layout()
	b.Manifest.Layout.Shared, b.Manifest.Layout.Side = layout.Shared, layout.Side // they are not stored
	if !reflect.DeepEqual(b.Manifest.Layout, layout) {
		return fmt.Errorf("the manifest's layout %v is not that of its config", b.Manifest.Layout)
	}
	if err := b.checkWeights(); err != nil {
		return err
	}
	if b.Entropy != nil {
		if phases := b.Entropy.Phases(); phases != max(1, layout.Phases) {
			return fmt.Errorf("the model of codes is for cells in %d phases, the tokenizer has %d", phases, max(1, layout.Phases))
		}
		for i, k := range b.Entropy.Vocab() {
			if len(b.Entropy.Vocab()) != layout.Positions() || int(k) != layout.Vocab[i] {
				return fmt.Errorf("the model of codes is for vocabularies %v, the tokenizer has %v", b.Entropy.Vocab(), layout.Vocab)
			}
		}
	}
	if len(b.Codebooks) != layout.Slots() || len(b.Usage) != layout.Slots() {
		return fmt.Errorf("%d codebooks and %d usage counts for %d code positions", len(b.Codebooks), len(b.Usage), layout.Slots())
	}
	for i, book := range b.Codebooks {
		position := layout.Position(i)
		start, end := layout.Bounds(position / layout.Levels)
		want := []int{layout.Vocab[position], end - start}
		switch {
		case book == nil:
			return fmt.Errorf("codebook %d is missing", i)
		case !slices.Equal(book.Shape, want):
			return fmt.Errorf("codebook %d has shape %v, the tokenizer needs %v", i, book.Shape, want)
		case len(b.Usage[i]) != want[0]:
			return fmt.Errorf("usage %d has %d counts for %d codes", i, len(b.Usage[i]), want[0])
		}
		if at := firstNotFinite(book.Data); at >= 0 {
			return fmt.Errorf("code %d of codebook %d is not finite", at/want[1], i)
		}
	}
	return nil
}

// checkWeights compares the network's variables by name and shape. The quantizer's need only be finite: encoding and
// decoding use the codebooks.
func (b *Bundle) checkWeights() error {
	var sample tokenizer.Sample
	if !b.Tokenizer.Spec.Model.Pictures() {
		// The stored mean shows the real dimension before the network for the stated one is made.
		mean := b.Weights["state/mean"]
		if mean == nil {
			return fmt.Errorf("variable %q is missing", "state/mean")
		}
		if len(mean.Data) != b.Tokenizer.Input {
			return fmt.Errorf("the manifest's input_dim of %d is not that of the stored weights", b.Tokenizer.Input)
		}
		sample.Mean = make([]float64, b.Tokenizer.Input)
		sample.Variance = sample.Mean
	}
	want := b.Tokenizer.InitNetwork(0, sample)
	network := weights.Set{}
	for p, a := range b.Weights {
		if at := firstNotFinite(a.Data); at >= 0 {
			return fmt.Errorf("variable %q is not finite at element %d", p, at)
		}
		if !strings.HasPrefix(p, vq.Prefix+"/") {
			network[p] = a
		}
	}
	return want.Check(network)
}

// firstNotFinite returns the first element that is NaN or infinite, or -1.
func firstNotFinite(values []float32) int {
	return slices.IndexFunc(values, func(x float32) bool { return x-x != 0 })
}
