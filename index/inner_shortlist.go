package index

import (
	"math"
	"slices"
)

// measurer knows the cost of a row by definition.
type measurer interface {
	measure(query []float32, item uint32) found
}

// shortlist collects the rows that may be among the k best of one query.
//
// A float32 score is off by at most margin. With T the k-th smallest score seen, k
// rows cost at most T + margin, so a row of score above T + 2 margin is not among
// the best; the others are compared by definition at the end. The result is exact.
type shortlist struct {
	query  []float32 // [d]
	from   measurer
	k      int
	margin float64
	limit  float32  // scores not below it are of no interest
	keys   []uint64 // sortable(score) << 32 | item; at most cap
}

func (s *shortlist) reset(from measurer, query []float32, k int, margin float64) {
	s.from, s.query = from, query
	s.k, s.margin, s.limit = k, margin, float32(math.Inf(1))
	if size := k + max(k, 64); cap(s.keys) < size {
		s.keys = make([]uint64, 0, size)
	}
	s.keys = s.keys[:0]
}

// offer adds a row whose score is below the limit.
func (s *shortlist) offer(score float32, item uint32) {
	s.keys = append(s.keys, uint64(sortable(score))<<32|uint64(item))
	if len(s.keys) < cap(s.keys) {
		return
	}
	s.shrink()
	if len(s.keys) > cap(s.keys)-cap(s.keys)/4 { // too many scores are alike
		s.settle()
	}
}

// shrink lowers the limit as far as the scores allow and drops the rows beyond it.
func (s *shortlist) shrink() {
	if len(s.keys) <= s.k {
		return
	}
	partition(s.keys, s.k-1)
	worst := fromSortable(uint32(s.keys[s.k-1] >> 32))
	s.limit = math.Nextafter32(float32(float64(worst)+2*s.margin), float32(math.Inf(1)))
	kept := s.keys[:s.k]
	for _, key := range s.keys[s.k:] {
		if fromSortable(uint32(key>>32)) < s.limit {
			kept = append(kept, key)
		}
	}
	s.keys = kept
}

func (s *shortlist) settle() {
	type ranked struct {
		found
		key uint64
	}
	list := make([]ranked, len(s.keys))
	for i, key := range s.keys {
		list[i] = ranked{s.from.measure(s.query, uint32(key)), key}
	}
	slices.SortFunc(list, func(a, b ranked) int { return compareFound(a.found, b.found) })
	for i := range s.k {
		s.keys[i] = list[i].key
	}
	s.keys = s.keys[:s.k]
}

func (s *shortlist) finish(list []found) []found {
	s.shrink()
	for _, key := range s.keys {
		list = append(list, s.from.measure(s.query, uint32(key)))
	}
	return list
}

// partition puts the key that belongs at place at there, nothing larger before it and
// nothing smaller after it.
func partition(keys []uint64, at int) {
	low, high := 0, len(keys)-1
	for low < high {
		a, b, c := keys[low], keys[(low+high)/2], keys[high]
		pivot := max(min(a, b), min(max(a, b), c)) // their median
		i, j := low, high
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			high = j
		case at >= i:
			low = i
		default:
			return
		}
	}
}
