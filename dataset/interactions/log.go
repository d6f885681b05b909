package interactions

import (
	"slices"
	"sort"
	"strings"

	"github.com/gritvq/gritvq/internal/fingerprint"
)

// Log holds a chronological sequence of items for every user. Users and items
// are numbered from 0 in order of first occurrence in the file. A Log
// does not change and is safe for concurrent use.
type Log struct {
	path    string
	users   []string
	items   []string
	offsets []int   // [users+1] of sequences in taken
	taken   []int32 // [interactions] items
	untimed bool    // see InFileOrder
}

// Path is the name the log was opened by.
func (l *Log) Path() string { return l.path }

// InFileOrder says that the log came from a table without a column of times,
// whose rows were taken to be in chronological order. Sequences are in it by
// their format.
func (l *Log) InFileOrder() bool { return l.untimed }

// Users is the number of users.
func (l *Log) Users() int { return len(l.users) }

// Items is the number of distinct items.
func (l *Log) Items() int { return len(l.items) }

// Len is the number of interactions, repeated ones included.
func (l *Log) Len() int { return len(l.taken) }

// User returns the name of user i in the file.
func (l *Log) User(i int) string { return l.users[i] }

// Item returns the name of item i in the file.
func (l *Log) Item(i int) string { return l.items[i] }

// Sequence returns all items of a user, the oldest first. The caller must not
// modify it.
func (l *Log) Sequence(user int) []int32 {
	return l.taken[l.offsets[user]:l.offsets[user+1]:l.offsets[user+1]]
}

// Fingerprint identifies the users and their sequences, independent of the
// file's name, layout and order.
func (l *Log) Fingerprint() string {
	order := make([]int, l.Users())
	for u := range order {
		order[u] = u
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(l.users[a], l.users[b]) })
	h := fingerprint.New()
	for _, u := range order {
		h.Text(l.users[u])
		h.Number(uint64(len(l.Sequence(u))))
		for _, item := range l.Sequence(u) {
			h.Text(l.items[item])
		}
	}
	return h.String()
}

// Order identifies the order in which the log numbers its users.
func (l *Log) Order() string {
	h := fingerprint.New()
	for _, user := range l.users {
		h.Text(user)
	}
	return h.String()
}

// Recent returns the last n items of a history, or all if it is shorter. It
// shares memory with the history.
func Recent(history []int32, n int) []int32 {
	return history[max(0, len(history)-max(0, n)):]
}

// Stats describes a log.
type Stats struct {
	Users        int     `json:"users"`
	Items        int     `json:"items"`
	Interactions int     `json:"interactions"`
	MeanLength   float64 `json:"mean_length"` // items a user
	MedianLength float64 `json:"median_length"`
	Shortest     int     `json:"shortest"`
	Longest      int     `json:"longest"`
	// Density is the share of all pairs of a user and an item that the log
	// holds, repeated interactions counting each time.
	Density float64 `json:"density"`
	// Repeats is the number of interactions with items that the user had taken before.
	Repeats int `json:"repeats"`
}

// Stats summarises the log; without users all of it is 0.
func (l *Log) Stats() Stats {
	s := Stats{Users: l.Users(), Items: l.Items(), Interactions: l.Len()}
	if s.Users == 0 {
		return s
	}
	lengths := make([]int, l.Users())
	for u := range lengths {
		lengths[u] = l.offsets[u+1] - l.offsets[u]
	}
	sort.Ints(lengths)
	n := len(lengths)
	s.MeanLength = float64(l.Len()) / float64(n)
	s.MedianLength = float64(lengths[(n-1)/2]+lengths[n/2]) / 2
	s.Shortest, s.Longest = lengths[0], lengths[n-1]
	s.Density = s.MeanLength / float64(l.Items())
	last := make([]int, l.Items()) // user who took an item last, from 1
	for u := range l.Users() {
		for _, item := range l.Sequence(u) {
			if last[item] == u+1 {
				s.Repeats++
			}
			last[item] = u + 1
		}
	}
	return s
}

// names numbers strings in the order of their first appearance.
type names struct {
	list  []string
	index map[string]int32
}

// number returns the number of a name; the bytes are copied if it is new.
func (n *names) number(name string) int32 {
	if i, known := n.index[name]; known {
		return i
	}
	if n.index == nil {
		n.index = map[string]int32{}
	}
	i := int32(len(n.list))
	name = string([]byte(name)) // not a part of a longer line
	n.list = append(n.list, name)
	n.index[name] = i
	return i
}

// recorder gathers interactions in the order of a file.
type recorder struct {
	users, items names
	userOf       []int32
	itemOf       []int32
	times        []float64 // empty where the file's order is the order of time
	untimed      bool      // the file is a table without times
}

func (r *recorder) add(user, item string) {
	r.userOf = append(r.userOf, r.users.number(user))
	r.itemOf = append(r.itemOf, r.items.number(item))
}

// log sorts by user, then by time; interactions of one time stay in the order
// of the file.
func (r *recorder) log(path string) *Log {
	l := &Log{path: path, users: r.users.list, items: r.items.list, untimed: r.untimed}
	l.offsets = make([]int, l.Users()+1)
	for _, user := range r.userOf {
		l.offsets[user+1]++
	}
	for u := range l.Users() {
		l.offsets[u+1] += l.offsets[u]
	}
	order := make([]int32, len(r.userOf)) // interactions by user
	next := slices.Clone(l.offsets)
	for i, user := range r.userOf {
		order[next[user]] = int32(i)
		next[user]++
	}
	l.taken = make([]int32, len(order))
	for u := range l.Users() {
		part := order[l.offsets[u]:l.offsets[u+1]]
		if len(r.times) > 0 {
			sort.SliceStable(part, func(i, j int) bool { return r.times[part[i]] < r.times[part[j]] })
		}
		for i, at := range part {
			l.taken[l.offsets[u]+i] = r.itemOf[at]
		}
	}
	return l
}
