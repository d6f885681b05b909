package interactions

import (
	"math/rand/v2"
	"sort"
)

// Habits of the shop's users: probabilities unless said otherwise.
const (
	takeCompanion = 0.30 // the item that goes with the last one comes next
	stayInTopic   = 0.70
	nextTopic     = 0.24 // round the department; else anywhere
	otherStyle    = 0.30 // of taking an item in a style that is not the user's
	unlikeLast    = 0.50 // of taking an item that shares nothing with the last
	goOn          = 0.80 // after the first five items
	shortestWalk  = 5
	longestWalk   = 60
	choiceTries   = 24 // draws before a user takes anything
)

// shopFloor is the shop without its users.
type shopFloor struct {
	items     []shopItem
	companion []int   // of every item
	topics    zipf    // by popularity
	shelves   [][]int // items of a topic, the most popular first
	appeal    []zipf  // of a shelf
}

// newShopFloor draws the items, equally many of each topic.
func newShopFloor(items int, seed uint64) *shopFloor {
	random := rand.New(rand.NewPCG(seed, 0x6974656d73))
	topics := min(len(shopTopics), items)
	f := &shopFloor{items: make([]shopItem, items), companion: make([]int, items), shelves: make([][]int, topics)}
	f.topics = newZipf(topics, 3)
	for i := range f.items {
		topic := i % topics
		features := len(shopTopics[topic].features)
		first := random.IntN(features)
		second := (first + 1 + random.IntN(features-1)) % features
		f.items[i] = shopItem{topic: topic, style: random.IntN(len(shopStyles)), features: [2]int{first, second}}
		f.shelves[topic] = append(f.shelves[topic], i)
	}
	for _, shelf := range f.shelves {
		random.Shuffle(len(shelf), func(a, b int) { shelf[a], shelf[b] = shelf[b], shelf[a] })
		f.appeal = append(f.appeal, newZipf(len(shelf), 1))
	}
	for i, item := range f.items {
		f.companion[i] = f.companionOf(item, random)
	}
	return f
}

// companionOf draws an item of the next topic, a popular one rather than not, in
// the same style if a few draws find one.
func (f *shopFloor) companionOf(item shopItem, random *rand.Rand) int {
	topic := f.after(item.topic)
	companion := 0
	for range choiceTries {
		companion = f.shelves[topic][f.appeal[topic].draw(random)]
		if f.items[companion].style == item.style {
			break
		}
	}
	return companion
}

// after is the topic that follows, round the department.
func (f *shopFloor) after(topic int) int {
	first := topic / topicsPerDepartment * topicsPerDepartment
	size := min(topicsPerDepartment, len(f.shelves)-first)
	return first + (topic-first+1)%size
}

// walk draws the purchases of one user.
func (f *shopFloor) walk(random *rand.Rand) []int {
	length := shortestWalk
	for length < longestWalk && random.Float64() < goOn {
		length++
	}
	length = min(length, max(1, len(f.items)/2))
	style, topic := random.IntN(len(shopStyles)), f.topics.draw(random)
	var bought []int
	taken := map[int]bool{}
	for len(bought) < length {
		last := -1
		if len(bought) > 0 {
			last = bought[len(bought)-1]
			switch x := random.Float64(); {
			case x < stayInTopic:
			case x < stayInTopic+nextTopic:
				topic = f.after(topic)
			default:
				topic = f.topics.draw(random)
			}
		}
		item := f.choose(random, topic, style, last, taken)
		if item < 0 {
			topic = f.topics.draw(random) // the shelf holds nothing new
			continue
		}
		bought, taken[item], topic = append(bought, item), true, f.items[item].topic
	}
	return bought
}

// choose returns the next item, or -1 if the topic has no more to offer.
func (f *shopFloor) choose(random *rand.Rand, topic, style, last int, taken map[int]bool) int {
	if last >= 0 && random.Float64() < takeCompanion && !taken[f.companion[last]] {
		return f.companion[last]
	}
	fallback := -1
	for range choiceTries {
		i := f.shelves[topic][f.appeal[topic].draw(random)]
		if taken[i] {
			continue
		}
		fallback = i
		appeal := 1.0
		if f.items[i].style != style {
			appeal *= otherStyle
		}
		if last >= 0 && !f.items[i].shares(f.items[last]) {
			appeal *= unlikeLast
		}
		if random.Float64() < appeal {
			return i
		}
	}
	return fallback
}

// zipf draws 0..n-1 with probabilities that fall as 1/(k + offset).
type zipf []float64 // cumulative

func newZipf(n, offset int) zipf {
	z := make(zipf, n)
	sum := 0.0
	for k := range z {
		sum += 1 / float64(k+offset)
		z[k] = sum
	}
	return z
}

func (z zipf) draw(random *rand.Rand) int {
	return min(sort.SearchFloat64s(z, random.Float64()*z[len(z)-1]), len(z)-1)
}
