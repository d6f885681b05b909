package index

import (
	"cmp"
	"math"
)

// scaleToUnit divides the rows of x [n,d] by their lengths; zero rows stay.
func scaleToUnit(x []float32, n, d int) {
	for i := range n {
		row := x[i*d : (i+1)*d]
		length := math.Sqrt(Dot(row, row))
		if length == 0 {
			continue
		}
		for j, v := range row {
			row[j] = float32(float64(v) / length)
		}
	}
}

type probeMemory struct {
	lists  []uint32 // [queries,probe] best lists of each query
	start  []int    // [lists+1] first of a list's queries
	order  []int    // queries, list by list
	joined []*shortlist
}

// Search finds the k best rows in the best lists for each query: see RowIndex.
// SearchOptions.Effort is the number of those lists.
func (f *IVF) Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions) {
	checkSearch("IVF.Search", x, n, f.d, k, items, scores)
	probe := min(len(f.lists), cmp.Or(max(0, opt.Effort), f.probe))
	forBlocks(n, ivfBlock, opt.Workers, func(from, to int) {
		queries := to - from
		b := takeQueryBlock(&f.collection, &f.space, x[from*f.d:to*f.d], queries, min(k, f.n))
		defer b.release()
		m := &b.probes
		m.lists = resized(m.lists, queries*probe)
		f.centers.Search(b.x, queries, probe, m.lists, nil, SearchOptions{Workers: 1})
		m.byList(len(f.lists), probe)
		for list := range f.lists {
			f.scanList(b, list)
		}
		b.write(k, items[from*k:to*k], slice(scores, from*k, to*k), func(query int, visit func(item uint32)) {
			for _, list := range m.lists[query*probe : (query+1)*probe] {
				for _, item := range f.members[list] {
					visit(item)
				}
			}
		})
	})
}

// byList sorts the queries by the lists they look into.
func (m *probeMemory) byList(lists, probe int) {
	m.start = resized(m.start, lists+1)
	clear(m.start)
	total := 0
	for _, list := range m.lists {
		if list != Missing {
			m.start[list]++
			total++
		}
	}
	for list, sum := 0, 0; list <= lists; list++ {
		m.start[list], sum = sum, sum+m.start[list]
	}
	m.order = resized(m.order, total)
	for i, list := range m.lists {
		if list != Missing {
			m.order[m.start[list]] = i / probe
			m.start[list]++
		}
	}
	copy(m.start[1:], m.start) // each start has moved to the next one's
	m.start[0] = 0
}

// scanList offers the rows of a list to the queries that look into it.
func (f *IVF) scanList(b *queryBlock, list int) {
	m := &b.probes
	queries := m.order[m.start[list]:m.start[list+1]]
	if len(queries) == 0 || f.lists[list].rows == 0 {
		return
	}
	b.rows, m.joined = b.rows[:0], m.joined[:0]
	for _, query := range queries {
		b.rows = append(b.rows, b.query(query))
		m.joined = append(m.joined, b.members[query])
	}
	groups := b.pack(b.rows)
	for p := range len(f.lists[list].half) / panelCodes {
		for g, group := range groups {
			lists := m.joined[g*groupRows : min((g+1)*groupRows, len(m.joined))]
			f.space.scan(&f.lists[list], p, group, lists, f.members[list], &b.scores)
		}
	}
}
