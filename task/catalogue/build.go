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

// Ranked returns the codes of the last level that an item with the given prefix may have, nearest first.
type Ranked func(item int, prefix []uint32) []uint32

// BuildOptions refine Build.
type BuildOptions struct {
	Resolve    Resolution // Token if empty
	Ranked     Ranked     // needed by Reassign
	TokenVocab int        // smallest vocabulary of the token; room lets a trained model name items added later
	Tokenizer  string     // where the codes come from: the fingerprint of a bundle, or a Numbering
}

func (o BuildOptions) check() error {
	if o.Resolve != Token && o.Resolve != Reassign {
		return usage.Errorf("--resolve %s: use token or reassign", o.Resolve)
	}
	if o.TokenVocab < 0 || o.TokenVocab > maxVocab || o.TokenVocab > 0 && o.Resolve != Token {
		return usage.Errorf("--spare %d: use 0 or more, and only with --resolve token", o.TokenVocab)
	}
	return nil
}

// Build gives an ID to every item: keys [n] are their names, codes [n, L] row-major come from the tokenizer, vocab [L]
// is the number of codes of each level. Of items with equal codes the first has the token 0, or keeps its codes.
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
	return t, t.Add(codes, keys, opt.Ranked)
}

// Add gives IDs to new items, keys [n] with codes [n, Levels], as a new version. IDs in use stay as they are.
// Reassign needs ranked. After an error the table is unchanged.
func (t *Table) Add(codes []uint32, keys []string, ranked Ranked) error {
	if err := t.check(codes, keys, ranked); err != nil {
		return err
	}
	added := *t
	added.vocab, added.ids, added.original = slices.Clone(t.vocab), slices.Clone(t.ids), slices.Clone(t.original)
	added.keys = slices.Concat(t.keys, keys)
	used := map[string]int{} // new items, by packed codes
	var packed []byte
	claim := func(own []uint32) (earlier int) { // items that have these codes already
		packed = pack(packed[:0], own)
		used[string(packed)]++
		return t.Count(own) + used[string(packed)] - 1
	}
	moved, err := 0, error(nil)
	if t.resolution == Token {
		err = added.appendNumbered(codes, claim)
	} else {
		moved, err = added.appendMoved(codes, claim, ranked)
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

func (t *Table) check(codes []uint32, keys []string, ranked Ranked) error {
	switch {
	case len(codes)/t.levels != len(keys) || len(codes)%t.levels != 0:
		return fmt.Errorf("%d items of %d levels cannot have %d codes", len(keys), t.levels, len(codes))
	case len(keys) > math.MaxInt32-t.Len():
		return fmt.Errorf("a table holds at most %d items", math.MaxInt32)
	case t.resolution == Reassign && ranked == nil:
		return fmt.Errorf("moving codes needs to know which are near: give the ranked codes of an item, or use the method %q", Token)
	}
	for i, code := range codes {
		if level := i % t.levels; uint64(code) >= uint64(t.vocab[level]) {
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

// appendMoved moves the last code of items whose codes are taken, after all items with free codes have theirs.
func (t *Table) appendMoved(codes []uint32, claim func([]uint32) int, ranked Ranked) (moved int, err error) {
	first, last := len(t.ids)/t.levels, t.levels-1
	t.ids = append(t.ids, codes...)
	var surplus []int
	for item := range len(codes) / t.levels {
		own := t.ID(first + item)
		t.original = append(t.original, own[last])
		if claim(own) > 0 {
			surplus = append(surplus, item)
		}
	}
	for _, item := range surplus {
		own := t.ID(first + item)
		trial := slices.Clone(own)
		for _, code := range ranked(item, own[:last:last]) {
			if uint64(code) >= uint64(t.vocab[last]) {
				return 0, fmt.Errorf("the ranked codes of item %q hold %d, beyond the vocabulary of %d", t.keys[first+item], code, t.vocab[last])
			}
			if trial[last] = code; claim(trial) == 0 {
				own[last] = code
				moved++
				break
			}
		}
	}
	return moved, nil
}

// pack appends codes as bytes, as the key of a map.
func pack(to []byte, codes []uint32) []byte {
	for _, code := range codes {
		to = binary.LittleEndian.AppendUint32(to, code)
	}
	return to
}
