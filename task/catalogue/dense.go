package catalogue

import "context"

// denseIdentity stands for the tokenizer in tables of dense IDs.
const denseIdentity = "dense"

// denseEncoder gives every item one code of its own: a model's table of codes has a row for every item (atomic IDs).
type denseEncoder struct{ items int }

func (*denseEncoder) withoutContent() {}

func (d *denseEncoder) origin() origin {
	return origin{
		identity: denseIdentity, vocab: []int{max(1, d.items)}, description: "dense, a code of its own for every item",
		meaning: "A code is the item's number and says nothing about it.",
	}
}

func (d *denseEncoder) encode(_ context.Context, s *source, before int, _ bool) ([]uint32, Distances, error) {
	d.items = before + len(s.items)
	codes := make([]uint32, len(s.items))
	for i := range codes {
		codes[i] = uint32(before + i)
	}
	return codes, nil, nil
}

func (d *denseEncoder) store(dir string) error { return withoutTokenizer(dir) }
