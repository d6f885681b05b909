package interactions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
)

// syntheticPrefix begins the names of built-in data.
const syntheticPrefix = "synthetic:"

// Defaults and limits of synthetic:shop.
const (
	defaultShopUsers = 2000
	defaultShopItems = 600
	defaultShopDim   = 64
	maxShopUsers     = 10_000_000
	maxShopItems     = 1_000_000
	maxShopDim       = 4096
)

// Shop is a made-up shop: a catalogue, an embedding of every item, and what its
// users bought.
type Shop struct {
	Catalogue *Catalogue
	// Vectors [items*Dim] are embeddings of unit length in the order of the
	// catalogue, as a sentence encoder might make them: close for items of one
	// department, closer for one topic, closest for the same features.
	Vectors []float32
	Dim     int
	Log     *Log
}

func isShop(path string) bool { return strings.HasPrefix(path, syntheticPrefix) }

// OpenShop returns the shop that "synthetic:shop?users=N&items=M&dim=D&seed=S"
// names: 2000 users, 600 items, embeddings of 64 numbers and seed 1 unless told.
func OpenShop(path string) (*Shop, error) {
	name, query, _ := strings.Cut(strings.TrimPrefix(path, syntheticPrefix), "?")
	if !isShop(path) || name != "shop" {
		return nil, fmt.Errorf("there is no built-in log %q; known is %sshop", path, syntheticPrefix)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("cannot understand %q: write it as %sshop?users=500&items=200&seed=7", path, syntheticPrefix)
	}
	users, items, dim, seed := defaultShopUsers, defaultShopItems, defaultShopDim, uint64(1)
	for key, list := range values {
		text := list[len(list)-1]
		switch key {
		case "users":
			users, err = parseCount(text, maxShopUsers)
		case "items":
			items, err = parseCount(text, maxShopItems)
		case "dim":
			dim, err = parseCount(text, maxShopDim)
		case "seed":
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				err = fmt.Errorf("expected a number from 0")
			}
		default:
			return nil, fmt.Errorf("%s has no parameter %q; known are users, items, dim and seed", path, key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s in %s is impossible: %w", key, text, path, err)
		}
	}
	shop := NewShop(users, items, dim, seed)
	shop.Log.path = path
	return shop, nil
}

func parseCount(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("expected a number from 1 to %d", most)
	}
	return n, nil
}

// shopItem is what a title and an embedding are made from.
type shopItem struct {
	topic, style int
	features     [2]int
}

func (a shopItem) shares(b shopItem) bool {
	return a.topic == b.topic && (a.features[0] == b.features[0] || a.features[0] == b.features[1] ||
		a.features[1] == b.features[0] || a.features[1] == b.features[1])
}

// NewShop makes a shop of at least one user, item and dimension. The same
// arguments give the same shop on every machine, and more users leave those
// before them as they were.
//
// There is something to learn in it. Items have a topic, such as tents, within a
// department, a style and two features, which title and embedding tell. Some are
// far more popular than others, by Zipf's law. A user likes one style and drifts
// from topic to topic, mostly round a department. What comes next is, about three
// times in ten, the one item that goes with the last; otherwise an item of the
// topic that is popular, in the user's style or like the last one. Nobody buys a
// thing twice.
func NewShop(users, items, dim int, seed uint64) *Shop {
	floor := newShopFloor(items, seed)
	s := &Shop{Dim: dim, Vectors: floor.vectors(dim, seed)}
	list := make([]Item, items)
	for i, item := range floor.items {
		topic := shopTopics[item.topic]
		list[i] = Item{
			ID:         fmt.Sprintf("item%d", i+1),
			Title:      fmt.Sprintf("%s %s %s %s %d", shopStyles[item.style], topic.features[item.features[0]], topic.features[item.features[1]], topic.noun, i+1),
			Categories: []string{topic.department, topic.category},
		}
		list[i].describe("")
	}
	s.Catalogue, _ = NewCatalogue(list) // names differ by their numbers
	r := &recorder{}
	for u := range users {
		name := fmt.Sprintf("user%d", u+1)
		for _, item := range floor.walk(rand.New(rand.NewPCG(seed, uint64(u)^0x75736572))) {
			r.add(name, list[item].ID)
		}
	}
	s.Log = r.log(fmt.Sprintf("%sshop?users=%d&items=%d&dim=%d&seed=%d", syntheticPrefix, users, items, dim, seed))
	return s
}

// vectors gives every department, topic, style and feature a random direction,
// and an item the sum of its own plus some noise.
func (f *shopFloor) vectors(dim int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 0x766563746f7273))
	directions := map[string][]float64{}
	direction := func(kind string, number int) []float64 {
		key := kind + strconv.Itoa(number)
		if directions[key] == nil {
			directions[key] = make([]float64, dim)
			for j := range directions[key] {
				directions[key][j] = bell(random)
			}
		}
		return directions[key]
	}
	vectors := make([]float32, len(f.items)*dim)
	point := make([]float64, dim)
	for i, item := range f.items {
		clear(point)
		add := func(weight float64, along []float64) {
			for j, x := range along {
				point[j] += float64(weight * x) // the conversion forbids fusing
			}
		}
		add(1, direction("department", item.topic/topicsPerDepartment))
		add(1, direction("topic", item.topic))
		add(0.5, direction("style", item.style))
		for _, feature := range item.features {
			add(0.4, direction("feature", item.topic*100+feature))
		}
		squares := 0.0
		for j := range point {
			point[j] += float64(0.3 * bell(random))
			squares += float64(point[j] * point[j])
		}
		for j, x := range point {
			vectors[i*dim+j] = float32(x / max(math.Sqrt(squares), 1e-9))
		}
	}
	return vectors
}

// bell returns a nearly normal number by operations that round alike on every
// machine: the sum of twelve uniform ones.
func bell(random *rand.Rand) float64 {
	sum := -6.0
	for range 12 {
		sum += random.Float64()
	}
	return sum
}
