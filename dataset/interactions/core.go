package interactions

import "slices"

// Core removes users with fewer than minUser interactions and items with fewer
// than minItem, alternately, until none is left: the k-core for minUser =
// minItem = k. Repeated interactions count each time. Names stay, numbers
// change. It returns l itself if nothing is removed, and a log without users if
// everything is.
func (l *Log) Core(minUser, minItem int) *Log {
	lengths, counts := make([]int, l.Users()), make([]int, l.Items())
	takers := l.takers()
	for u := range lengths {
		lengths[u] = l.offsets[u+1] - l.offsets[u]
		for _, item := range l.Sequence(u) {
			counts[item]++
		}
	}
	// Every user and item enters the queue once: those already dropped are
	// marked by a count that nothing brings back.
	const dropped = -1
	var users, items []int32
	for u, n := range lengths {
		if n < minUser {
			users, lengths[u] = append(users, int32(u)), dropped
		}
	}
	for i, n := range counts {
		if n < minItem {
			items, counts[i] = append(items, int32(i)), dropped
		}
	}
	if len(users)+len(items) == 0 {
		return l
	}
	for len(users)+len(items) > 0 {
		if n := len(users); n > 0 {
			u := users[n-1]
			users = users[:n-1]
			for _, item := range l.Sequence(int(u)) {
				if counts[item] == dropped {
					continue
				}
				if counts[item]--; counts[item] < minItem {
					items, counts[item] = append(items, item), dropped
				}
			}
			continue
		}
		n := len(items)
		item := items[n-1]
		items = items[:n-1]
		for _, u := range takers.of(item) {
			if lengths[u] == dropped {
				continue
			}
			if lengths[u]--; lengths[u] < minUser {
				users, lengths[u] = append(users, u), dropped
			}
		}
	}
	return l.only(func(user int) bool { return lengths[user] != dropped }, func(item int32) bool { return counts[item] != dropped })
}

// only copies the interactions of kept users with kept items.
func (l *Log) only(keepUser func(int) bool, keepItem func(int32) bool) *Log {
	part := &Log{path: l.path, offsets: []int{0}, untimed: l.untimed}
	numbers := make([]int32, l.Items()) // new ones, from 1
	for u := range l.Users() {
		if !keepUser(u) {
			continue
		}
		for _, item := range l.Sequence(u) {
			if !keepItem(item) {
				continue
			}
			if numbers[item] == 0 {
				part.items = append(part.items, l.items[item])
				numbers[item] = int32(len(part.items))
			}
			part.taken = append(part.taken, numbers[item]-1)
		}
		if n := len(part.taken); n > part.offsets[len(part.offsets)-1] {
			part.users = append(part.users, l.users[u])
			part.offsets = append(part.offsets, n)
		}
	}
	return part
}

// takerLists hold the users of every item, one entry an interaction.
type takerLists struct {
	offsets []int
	users   []int32
}

func (t takerLists) of(item int32) []int32 { return t.users[t.offsets[item]:t.offsets[item+1]] }

func (l *Log) takers() takerLists {
	t := takerLists{offsets: make([]int, l.Items()+1), users: make([]int32, l.Len())}
	for _, item := range l.taken {
		t.offsets[item+1]++
	}
	for i := range l.Items() {
		t.offsets[i+1] += t.offsets[i]
	}
	next := slices.Clone(t.offsets)
	for u := range l.Users() {
		for _, item := range l.Sequence(u) {
			t.users[next[item]] = int32(u)
			next[item]++
		}
	}
	return t
}
