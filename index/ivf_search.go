package index

// ivfBlock is the largest number of queries that are searched together: enough
// for the queries that look into one list to fill groups.
const ivfBlock = 512

// probeMemory says which queries of a block look into which lists.
type probeMemory struct {
	lists  []uint32 // [queries,probe] best lists of each query
	start  []int    // [lists+1] first of a list's queries
	order  []int    // queries, list by list
	joined []*shortlist
}

// Search finds the k best rows among the lists that are best for each query:
// see RowIndex. SearchOptions.Effort is the number of those lists.
func (f *IVF) Search(x []float32, n, k int, items []uint32, scores []float32, opt SearchOptions) {
	checkSearch("IVF.Search", x, n, f.d, k, items, scores)
	probe := f.probe
	if opt.Effort > 0 {
		probe = opt.Effort
	}
	probe = min(probe, len(f.lists))
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
		var part []float32
		if scores != nil {
			part = scores[from*k : to*k]
		}
		b.write(k, items[from*k:to*k], part, func(query int, visit func(item uint32)) {
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
	copy(m.start[1:], m.start) // each start has moved to the next one's place
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
