package catalogue

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/internal/usage"
)

// maxVocab bounds a position, so that a damaged file cannot ask for absurd tables.
const maxVocab = 1 << 24

// BuildOptions refine Build.
type BuildOptions struct {
	Resolve    Resolution // Token if empty
	Distances  Distances  // needed by Reassign and Sinkhorn
	TokenVocab int        // smallest vocabulary of the token; room lets a trained model name items added later
	Tokenizer  string     // where the codes come from: the fingerprint of a bundle, or a Numbering
}

func (o BuildOptions) check() error {
	if !slices.Contains(Resolutions, o.Resolve) && o.Resolve != Unique {
		return usage.Errorf("--resolve %s: use token or reassign or sinkhorn", o.Resolve)
	}
	if o.TokenVocab < 0 || o.TokenVocab > maxVocab || o.TokenVocab > 0 && o.Resolve != Token {
		return usage.Errorf("--spare %d: use 0 or more, and only with --resolve token", o.TokenVocab)
	}
	return nil
}

// Build gives an ID to every item: keys [n] are their names, codes [n, L] row-major come from the tokenizer, vocab [L]
// is the number of codes of each level. Of items with equal codes
// the first has the token 0, or keeps its codes under Reassign.
func Build(codes []uint32, vocab []int, keys []string, opt BuildOptions) (*Table, error) {
	opt.Resolve = cmp.Or(opt.Resolve, Token)
	if err := opt.check(); err != nil {
		return nil, err
	}
	if len(vocab) == 0 || len(keys) == 0 {
		return nil, errors.New("a table of IDs needs at least one level of codes and at least one item")
	}
	for level, size := range vocab {
		if size < 1 || size > maxVocab {
			return nil, fmt.Errorf("level %d has a vocabulary of %d; it must be from 1 to %d", level, size, maxVocab)
		}
	}
	t := &Table{resolution: opt.Resolve, tokenizer: opt.Tokenizer, levels: len(vocab), vocab: slices.Clone(vocab)}
	if opt.Resolve == Token {
		t.vocab = append(t.vocab, max(1, opt.TokenVocab))
	}
	return t, t.Add(codes, keys, opt.Distances)
}

// Add gives IDs to new items, keys [n] with codes [n, Levels], as a new version. IDs in use stay as they are.
// All but Token need distances. After an error the table is unchanged.
func (t *Table) Add(codes []uint32, keys []string, distances Distances) error {
	if err := t.check(codes, keys, distances); err != nil {
		return err
	}
	added := *t
	added.vocab, added.ids, added.original = slices.Clone(t.vocab), slices.Clone(t.ids), slices.Clone(t.original)
	added.keys = slices.Concat(t.keys, keys)
	if t.resolution == Unique {
		added.vocab[0] = max(added.vocab[0], added.Len())
	}
	used := map[string]int{} // new items, by packed codes
	var packed []byte
	claim := func(own []uint32) (earlier int) { // items that have these codes already
		packed = pack(packed[:0], own)
		used[string(packed)]++
		return t.Count(own) + used[string(packed)] - 1
	}
	moved, err := 0, error(nil)
	switch t.resolution {
	case Unique:
		added.ids = append(added.ids, codes...)
	case Token:
		err = added.appendNumbered(codes, claim)
	case Reassign:
		moved, err = added.appendMoved(codes, claim, distances)
	case Sinkhorn:
		moved, err = added.appendSpread(codes, claim, distances)
	}
	if err == nil {
		err = added.index()
	}
	if err != nil {
		return err
	}
	added.versions = append(slices.Clone(t.versions), Version{
		Number: t.Version() + 1, Added: len(keys), Items: added.Len(), LastVocab: added.LastVocab(), Moved: moved,
	})
	*t = added
	return nil
}

func (t *Table) check(codes []uint32, keys []string, distances Distances) error {
	switch {
	case len(codes)/t.levels != len(keys) || len(codes)%t.levels != 0:
		return fmt.Errorf("%d items of %d levels cannot have %d codes", len(keys), t.levels, len(codes))
	case len(keys) > math.MaxInt32-t.Len():
		return fmt.Errorf("a table holds at most %d items", math.MaxInt32)
	case t.moves() && distances == nil:
		return fmt.Errorf("moving codes needs to know which are near: give the distances of an item, or use the method %q", Token)
	}
	for i, code := range codes {
		if level := i % t.levels; t.resolution == Unique && uint64(code) != uint64(t.Len()+i) {
			return fmt.Errorf("item %q has code %d, and its own is %d", keys[i], code, t.Len()+i)
		} else if t.resolution != Unique && uint64(code) >= uint64(t.vocab[level]) {
			return fmt.Errorf("item %q has code %d at level %d, whose vocabulary is %d", keys[i/t.levels], code, level, t.vocab[level])
		}
	}
	for _, key := range keys {
		if _, known := t.rows[key]; known {
			return fmt.Errorf("item %q has an ID already; add it under another name", key)
		}
	}
	return nil
}

func (t *Table) appendNumbered(codes []uint32, claim func([]uint32) int) error {
	for own := range slices.Chunk(codes, t.levels) {
		token := claim(own)
		if token >= maxVocab {
			return fmt.Errorf("more than %d items share the codes %v", maxVocab, own)
		}
		t.ids = append(append(t.ids, own...), uint32(token))
		t.vocab[t.levels] = max(t.vocab[t.levels], token+1)
	}
	return nil
}

// pack appends codes as bytes, as the key of a map.
func pack(to []byte, codes []uint32) []byte {
	for _, code := range codes {
		to = binary.LittleEndian.AppendUint32(to, code)
	}
	return to
}
