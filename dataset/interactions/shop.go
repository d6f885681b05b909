package interactions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/gritvq/gritvq/dataset"
)

func init() {
	dataset.RegisterSynthetic(dataset.Shop, dataset.Synthetic{Name: "shop", Parameters: []dataset.Parameter{
		{Name: "users", Default: 2000, Most: 10_000_000},
		{Name: "items", Default: 600, Most: 1_000_000},
		{Name: "dim", Default: 64, Most: 4096},
		dataset.SeedParameter,
	}})
}

// Shop is a made-up shop: a catalogue, an embedding of every item, and a log of
// purchases.
type Shop struct {
	Catalogue *Catalogue
	// Vectors [items*Dim] are embeddings of unit length in the order of the
	// catalogue, as a sentence encoder might make them: close for items of one
	// department, closer for one topic, closest for the same features.
	Vectors []float32
	Dim     int
	Log     *Log
}

// OpenShop returns the shop that "synthetic:shop?users=N&items=M&dim=D&seed=S"
// names: by default 2000 users, 600 items, embeddings of 64 numbers and seed 1.
func OpenShop(path string) (*Shop, error) {
	_, v, err := dataset.ParseSynthetic(dataset.Shop, path)
	if err != nil {
		return nil, err
	}
	shop := NewShop(int(v["users"]), int(v["items"]), int(v["dim"]), v["seed"])
	shop.Log.path = path
	return shop, nil
}

// shopItem holds the properties behind a title and an embedding.
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
// A recommender can learn from it. Items have a topic, such as tents, within a
// department, a style and two features, which title and embedding tell. Their
// popularity follows Zipf's law. A user likes one style and drifts from topic to
// topic, mostly within a department. Three times in ten the next item is the one
// that goes with the last; otherwise an item of the topic that is popular, in
// the user's style or like the last one. Nobody buys a thing twice.
func NewShop(users, items, dim int, seed uint64) *Shop {
	floor := newShopFloor(items, seed)
	s := &Shop{Dim: dim, Vectors: floor.vectors(dim, seed)}
	list := make([]Item, items)
	for i, item := range floor.items {
		topic := shopTopics[item.topic]
		list[i] = Item{
			ID: fmt.Sprintf("item%d",
				i+1), Title: fmt.Sprintf("%s %s %s %s %d", shopStyles[item.style], topic.features[item.features[0]], topic.features[item.features[1]],
				topic.noun, i+1),
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
	s.Log = r.log(fmt.Sprintf("%sshop?users=%d&items=%d&dim=%d&seed=%d", dataset.SyntheticPrefix, users, items, dim, seed))
	return s
}

// vectors gives every department, topic, style and feature a random direction;
// the vector of an item is the sum of its directions plus some noise.
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

// bell returns a nearly normal number by operations that round the same on every
// machine: the sum of twelve uniform ones.
func bell(random *rand.Rand) float64 {
	sum := -6.0
	for range 12 {
		sum += random.Float64()
	}
	return sum
}
