package catalogue

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// maxVocab bounds a position, so that a damaged file cannot ask for absurd tables.
const maxVocab = 1 << 24

// Ranked returns the codes of the last level for item number item of the list
// that is being built or added, whose codes before the last are prefix: nearest
// first. Codes that are left out are never taken.
type Ranked func(item int, prefix []uint32) []uint32

// BuildOptions refine Build.
type BuildOptions struct {
	// Resolve is Token when empty.
	Resolve Resolution
	// Ranked is needed by Reassign, and not used by Token.
	Ranked Ranked
	// TokenVocab is the least vocabulary of the token. Room beyond the largest
	// group lets a trained model name items that are added later.
	TokenVocab int
	// Tokenizer identifies what the codes come from, such as the fingerprint of
	// a bundle.
	Tokenizer string
}

// Build gives an ID to every item: keys [n] are their names, codes [n, L]
// row-major what the tokenizer gave them, vocab [L] the number of codes of each
// level. With equal codes the item that comes first has the token 0, or keeps its
// codes. It fails on lengths that do not agree, a code outside its vocabulary, a
// name that is empty or repeated, and options that contradict each other.
func Build(codes []uint32, vocab []int, keys []string, opt BuildOptions) (*Table, error) {
	if opt.Resolve == "" {
		opt.Resolve = Token
	}
	t := &Table{resolution: opt.Resolve, tokenizer: opt.Tokenizer, levels: len(vocab), vocab: slices.Clone(vocab), rows: map[string]int32{}}
	if len(vocab) == 0 {
		return nil, fmt.Errorf("an ID needs at least one level of codes")
	}
	for level, size := range vocab {
		if size < 1 || size > maxVocab {
			return nil, fmt.Errorf("level %d has a vocabulary of %d; it must be from 1 to %d", level, size, maxVocab)
		}
	}
	switch opt.Resolve {
	case Token:
		if opt.TokenVocab < 0 || opt.TokenVocab > maxVocab {
			return nil, fmt.Errorf("a token vocabulary of %d is impossible; it is from 0 to %d", opt.TokenVocab, maxVocab)
		}
		t.vocab = append(t.vocab, max(1, opt.TokenVocab))
	case Reassign:
		if opt.TokenVocab != 0 {
			return nil, fmt.Errorf("IDs that are reassigned have no token; leave its vocabulary at 0")
		}
	default:
		return nil, fmt.Errorf("items that share codes cannot be resolved by %q; choose %q or %q", opt.Resolve, Token, Reassign)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("a table of IDs needs at least one item")
	}
	if err := t.Add(codes, keys, opt.Ranked); err != nil {
		return nil, err
	}
	return t, nil
}

// Add gives IDs to new items, keys [n] with codes [n, Levels], and leaves those
// in use as they are. It is a new version, whose entry in the log says whether
// the token's vocabulary grew. ranked is needed by Reassign. After an error the
// table is unchanged.
func (t *Table) Add(codes []uint32, keys []string, ranked Ranked) error {
	if err := t.check(codes, keys, ranked); err != nil {
		return err
	}
	added := &Table{resolution: t.resolution, tokenizer: t.tokenizer, levels: t.levels, vocab: slices.Clone(t.vocab),
		keys: append(slices.Clone(t.keys), keys...), ids: slices.Clone(t.ids), original: slices.Clone(t.original)}
	moved := 0
	if t.resolution == Token {
		if err := added.appendNumbered(t, codes); err != nil {
			return err
		}
	} else {
		var err error
		if moved, err = added.appendMoved(t, codes, ranked); err != nil {
			return err
		}
	}
	if err := added.index(); err != nil {
		return err
	}
	added.versions = append(slices.Clone(t.versions), Version{
		Number: t.Version() + 1, Added: len(keys), Items: added.Len(), LastVocab: added.vocab[added.Width()-1], Moved: moved,
	})
	*t = *added
	return nil
}

// check refuses items that cannot be added.
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

// appendNumbered appends codes with the next numbers of their groups.
func (t *Table) appendNumbered(before *Table, codes []uint32) error {
	next := map[string]int{} // tokens in use, by packed codes
	var packed []byte
	for own := range slices.Chunk(codes, t.levels) {
		packed = pack(packed[:0], own)
		token, known := next[string(packed)]
		if !known {
			token = before.Count(own)
		}
		if token >= maxVocab {
			return fmt.Errorf("more than %d items share the codes %v", maxVocab, own)
		}
		next[string(packed)] = token + 1
		t.ids = append(append(t.ids, own...), uint32(token))
		t.vocab[t.levels] = max(t.vocab[t.levels], token+1)
	}
	return nil
}

// appendMoved appends codes, with another last one where theirs are taken, and
// returns how many that were. Items keep their own codes before any item moves.
func (t *Table) appendMoved(before *Table, codes []uint32, ranked Ranked) (moved int, err error) {
	first, last := len(t.ids)/t.levels, t.levels-1
	t.ids = append(t.ids, codes...)
	taken := map[string]bool{} // by packed codes
	var packed []byte
	claim := func(own []uint32) bool {
		packed = pack(packed[:0], own)
		if taken[string(packed)] || before.Count(own) > 0 {
			return false
		}
		taken[string(packed)] = true
		return true
	}
	var surplus []int
	for item := range len(codes) / t.levels {
		own := t.ID(first + item)
		t.original = append(t.original, own[last])
		if !claim(own) {
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
			if trial[last] = code; claim(trial) {
				own[last] = code
				moved++
				break
			}
		}
	}
	return moved, nil
}

// pack appends codes as bytes, to serve as the key of a map.
func pack(to []byte, codes []uint32) []byte {
	for _, code := range codes {
		to = binary.LittleEndian.AppendUint32(to, code)
	}
	return to
}
