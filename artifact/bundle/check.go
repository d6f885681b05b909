package bundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// check compares the arrays with the configuration.
func (b *Bundle) check() error {
	layout := b.Tokenizer.Quantizer.Layout()
	b.Manifest.Layout.Shared = layout.Shared // it is not stored
	if !reflect.DeepEqual(b.Manifest.Layout, layout) {
		return fmt.Errorf("the manifest's layout %v is not that of its config", b.Manifest.Layout)
	}
	if err := b.checkWeights(); err != nil {
		return err
	}
	if b.Entropy != nil {
		for i, k := range b.Entropy.Vocab() {
			if len(b.Entropy.Vocab()) != layout.Positions() || int(k) != layout.Vocab[i] {
				return fmt.Errorf("the model of codes is for vocabularies %v, the tokenizer has %v", b.Entropy.Vocab(), layout.Vocab)
			}
		}
	}
	if len(b.Codebooks) != layout.Positions() || len(b.Usage) != layout.Positions() {
		return fmt.Errorf("%d codebooks and %d usage counts for %d code positions", len(b.Codebooks), len(b.Usage), layout.Positions())
	}
	for i, book := range b.Codebooks {
		start, end := layout.Bounds(i / layout.Levels)
		want := []int{layout.Vocab[i], end - start}
		switch {
		case book == nil:
			return fmt.Errorf("codebook %d is missing", i)
		case !slices.Equal(book.Shape, want):
			return fmt.Errorf("codebook %d has shape %v, the tokenizer needs %v", i, book.Shape, want)
		case len(b.Usage[i]) != layout.Vocab[i]:
			return fmt.Errorf("usage %d has %d counts for %d codes", i, len(b.Usage[i]), layout.Vocab[i])
		}
		if at := firstNotFinite(book.Data); at >= 0 {
			return fmt.Errorf("code %d of codebook %d is not finite", at/want[1], i)
		}
	}
	return nil
}

// checkWeights compares the network's variables by name and shape. The
// quantizer's variables need only be finite: encoding and decoding use the
// codebooks instead.
func (b *Bundle) checkWeights() error {
	zeros := make([]float64, b.Tokenizer.Input)
	want := b.Tokenizer.InitNetwork(0, zeros, zeros)
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
