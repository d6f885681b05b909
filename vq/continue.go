package vq

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/weights"
)

// Trained is a quantizer whose training is continued.
type Trained struct {
	Quantizer Quantizer
	Variables weights.Set      // as they are stored, see [TrainingOnly]
	Codebooks []*weights.Array // usable codes of every slot
	Usage     [][]int64        // how often training rows chose each code, by slot
}

// Continue returns the variables of q for further training. q is the trained quantizer or has more levels or
// codes; its other settings of form are those of the trained one. Trained codes keep their places: added codes
// start at what the trained ones code worst, added levels on what all levels before leave over. The sample is
// needed for these alone.
func Continue(q Quantizer, from Trained, sample Latents, rng *rand.Rand) (weights.Set, error) {
	switch q := q.(type) {
	case *Residual:
		return q.continued(from, sample, rng)
	case *Product:
		old, ok := from.Quantizer.(*Product)
		if !ok || len(old.parts) != len(q.parts) {
			return nil, errOtherForm
		}
		set := weights.Set{}
		for i, part := range q.parts {
			vars, err := part.continued(from.part(old.parts[i], i*old.layout.Levels, partPath(i)), sample.Slice(q.layout.Bounds(i)), rng)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			set.Merge(partPath(i), vars)
		}
		return set, nil
	case *Phased:
		old, ok := from.Quantizer.(*Phased)
		if !ok || !slices.Equal(old.layout.Vocab, q.layout.Vocab) || old.layout.Phases != q.layout.Phases {
			return nil, fmt.Errorf("levels and codes cannot be added to cells in phases (quantizer.transform.context)")
		}
		set := weights.Set{}
		for p, stack := range q.stacks {
			set.Merge(contextPath(p), from.Variables.Sub(contextPath(p)))
			vars, err := Continue(stack, from.part(old.stacks[p], p*q.layout.Positions(), phasePath(p)), Latents{}, rng)
			if err != nil {
				return nil, fmt.Errorf("phase %d: %w", p, err)
			}
			set.Merge(phasePath(p), vars)
		}
		return set, nil
	}
	return nil, fmt.Errorf("a quantizer of this construction cannot be trained further")
}

var errOtherForm = errors.New("the trained quantizer has another form")

// part is the trained part of a quantizer whose slots begin at first.
func (t Trained) part(q Quantizer, first int, path string) Trained {
	end := first + q.Layout().Slots()
	return Trained{Quantizer: q, Variables: t.Variables.Sub(path), Codebooks: t.Codebooks[first:end], Usage: t.Usage[first:end]}
}

func (q *Residual) continued(from Trained, sample Latents, rng *rand.Rand) (weights.Set, error) {
	old, ok := from.Quantizer.(*Residual)
	if !ok || q.method.Classical != nil {
		return nil, errOtherForm
	}
	set := weights.Set{}
	if e, ok := q.estimator.(EstimatorStarter); ok {
		set = e.Start(q.layout.Dim)
		for p, a := range set {
			if b := from.Variables[p]; b != nil && slices.Equal(a.Shape, b.Shape) {
				set[p] = b.Clone()
			}
		}
	}
	rests, err := q.rests(old, from, sample)
	if err != nil {
		return nil, err
	}
	trained := len(old.layout.Books())
	for l, slots := range q.layout.Books() {
		level, path := q.at(l)
		var vars weights.Set
		switch {
		case l >= trained:
			var usable *weights.Array
			if vars, usable, err = level.Start(rests[trained], rng); err == nil && !q.method.Implicit {
				err = rests[trained].subtractNearest(usable)
			}
		case q.layout.Vocab[slots[0]] > old.layout.Vocab[slots[0]]:
			vars, err = q.extended(level, from.Variables.Sub(path), from.Codebooks[l], from.Usage[l], rests[l], rng)
		default:
			vars = from.Variables.Sub(path).Clone()
			if b, ok := level.(remembering); ok {
				vars.Merge("", b.memory(from.Codebooks[l], ints(from.Usage[l])))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("level %d: %w", l, err)
		}
		set.Merge(path, vars)
	}
	return set, nil
}

// remembering is a [Level] with variables that only training has.
type remembering interface {
	// memory returns them for usable codes [K,d] that were chosen counts times.
	memory(usable *weights.Array, counts []int) weights.Set
}

// rests returns what is left of the sample before every trained level, and at last after all of them; nil if
// nothing is added to the trained levels.
func (q *Residual) rests(old *Residual, from Trained, sample Latents) ([]Latents, error) {
	rests := make([]Latents, old.config.Levels+1)
	if slices.Equal(q.layout.Vocab, old.layout.Vocab) || q.method.Implicit {
		return rests, nil
	}
	if !q.Searchable() {
		return nil, fmt.Errorf("method %s cannot take more levels or codes: its codes are not the nearest ones", q.config.Method)
	}
	if sample.N < 1 {
		return nil, fmt.Errorf("no latents to start from")
	}
	search, err := NewSearch(old, from.Variables, from.Codebooks)
	if err != nil {
		return nil, err
	}
	levels := old.config.Levels
	codes := make([]uint32, sample.N*levels)
	search.Encode(sample.Rows, sample.N, levels, old.config.Beam, codes, 0)
	rests[0] = sample.clone()
	for l := 1; l <= levels; l++ {
		leading := make([]uint32, 0, sample.N*l)
		for i := range sample.N {
			leading = append(leading, codes[i*levels:i*levels+l]...)
		}
		sent := make([]float32, len(sample.Rows))
		if err := search.Decode(leading, sample.N, l, sent); err != nil {
			return nil, err
		}
		rests[l] = sample.clone()
		for i := range sent {
			rests[l].Rows[i] -= sent[i]
		}
	}
	return rests, nil
}

// extended returns the variables of a trained level with more codes. Its usable codes become raw ones under a
// transform that begins anew, so that trained codes are what they were.
func (q *Residual) extended(level Level, trained weights.Set, book *weights.Array, usage []int64, rest Latents,
	rng *rand.Rand) (weights.Set, error) {
	start, ok := level.(interface {
		importable
		usable(weights.Set) *weights.Array
	})
	if !ok {
		return nil, fmt.Errorf("method %s cannot take more codes", q.config.Method)
	}
	codes, err := grown(book, q.config.Codes, rest, rng)
	if err != nil {
		return nil, err
	}
	counts := append(ints(usage), make([]int, q.config.Codes-len(usage))...)
	vars, err := start.init(codes.Clone(), counts, max(rowsOf(codes).meanNorm(), 1e-3), rng)
	if err != nil {
		return nil, err
	}
	if !alike(start.usable(vars).Data, codes.Data) {
		return nil, fmt.Errorf("a transform of kind %s and row_norm %s cannot take more codes and keep the trained ones",
			q.config.Transform.Kind, q.config.Transform.RowNorm)
	}
	for p, a := range trained {
		switch weights.GroupOf(p) {
		case weights.Condition:
			vars[p] = a.Clone()
		case weights.Shortlist:
			copy(vars[p].Data, a.Data)
		}
	}
	return vars, nil
}

// alike says whether values are equal but for rounding.
func alike(a, b []float32) bool {
	largest, gap := 0.0, 0.0
	for i := range a {
		largest, gap = math.Max(largest, math.Abs(float64(b[i]))), math.Max(gap, math.Abs(float64(a[i])-float64(b[i])))
	}
	return gap <= 1e-6*largest
}

// grown returns k codes: those of a book [K,d], then rows that these code badly, drawn without repetition with
// a chance in proportion to their squared error.
func grown(book *weights.Array, k int, rows Latents, rng *rand.Rand) (*weights.Array, error) {
	codes := weights.New(k, rows.Dim)
	copy(codes.Data, book.Data)
	left := rows.clone()
	if err := left.subtractNearest(book); err != nil {
		return nil, err
	}
	// The smallest of exponential times with these rates come in the order of such draws.
	times, order := make([]float64, rows.N), make([]int, rows.N)
	for i := range times {
		length := norm(left.Row(i))
		times[i], order[i] = rng.ExpFloat64()/math.Max(length*length, math.SmallestNonzeroFloat64), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	added := k - book.Shape[0]
	if added > rows.N {
		return nil, fmt.Errorf("%d codes cannot start on %d latents; add fewer, or give more data", added, rows.N)
	}
	for i, row := range order[:added] {
		copy(codes.Row(book.Shape[0]+i), rows.Row(row))
	}
	return codes, nil
}

func ints(counts []int64) []int {
	list := make([]int, len(counts))
	for i, n := range counts {
		list[i] = int(n)
	}
	return list
}
