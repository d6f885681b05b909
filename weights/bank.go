package weights

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Bank is a store of variables that can travel packed into blocks. A compiled engine
// takes longer to receive hundreds of variables, moments and averages one by one than
// to use them; packed end to end they are a handful, and one update moves them all. On
// the host they keep their own paths: Install packs and Read unpacks.
type Bank struct {
	store *model.Store
	packs []pack
	slots map[string]slot // where packed variables are, by path
}

type pack struct {
	block    string // path they travel under
	members  []string
	families []string // prefixes of copies that are packed likewise
}

// slot is a variable's place in a block.
type slot struct {
	block    string
	from, to int
	shape    []int
}

// NewBank returns an empty bank that packs nothing.
func NewBank() *Bank { return &Bank{store: model.NewStore(), slots: map[string]slot{}} }

// packedTogether bounds the variables of a block: an engine that fuses the steps of a
// block's parts takes long to compile very many.
const packedTogether = 16

// Pack makes variables with the members' paths and shapes travel in blocks, whose paths
// are name and a number; copies below each family's prefix, such as their moments,
// travel in blocks below that prefix. A set installed later has all or none of a family.
func (b *Bank) Pack(name string, members Set, families ...string) {
	number := 0
	for own := range slices.Chunk(members.Paths(), packedTogether) {
		p := pack{block: path.Join(name, strconv.Itoa(number)), members: own, families: append([]string{""}, families...)}
		for _, family := range p.families {
			at := 0
			for _, member := range own {
				array := members[member]
				b.slots[path.Join(family, member)] = slot{path.Join(family, p.block), at, at + len(array.Data), array.Shape}
				at += len(array.Data)
			}
		}
		b.packs = append(b.packs, p)
		number++
	}
}

// Store is the engine's view of the variables, for compiling programs.
func (b *Bank) Store() *model.Store { return b.store }

// Finalize releases the engine's memory.
func (b *Bank) Finalize() { b.store.Finalize() }

// Carrier is the path that a variable travels under: its own or its block's.
func (b *Bank) Carrier(variable string) string {
	if s, ok := b.slots[variable]; ok {
		return s.block
	}
	return variable
}

// Install writes every variable of the set, creating new ones.
func (b *Bank) Install(set Set) error {
	plain := Set{}
	for p, a := range set {
		if _, packed := b.slots[p]; !packed {
			plain[p] = a
		}
	}
	for _, p := range b.packs {
		for _, family := range p.families {
			joined := New(0)
			present := 0
			for _, member := range p.members {
				variable := path.Join(family, member)
				a, ok := set[variable]
				if !ok {
					continue
				}
				if shape := b.slots[variable].shape; !slices.Equal(a.Shape, shape) {
					return fmt.Errorf("variable %q has shape %v, the model needs %v", variable, a.Shape, shape)
				}
				present++
				joined.Data = append(joined.Data, a.Data...)
			}
			switch present {
			case 0:
			case len(p.members):
				joined.Shape = []int{len(joined.Data)}
				plain[path.Join(family, p.block)] = joined
			default:
				return fmt.Errorf("%d of the %d variables that travel as %q are given; all are needed",
					present, len(p.members), path.Join(family, p.block))
			}
		}
	}
	return Install(b.store, plain)
}

// Read copies the variables below prefix ("" for all) to the host, without the prefix.
func (b *Bank) Read(prefix string) (Set, error) {
	direct := prefix
	if b.unpacksBelow(prefix) {
		direct = ""
	}
	all, err := Read(b.store, direct)
	if err != nil || direct == prefix && prefix != "" {
		return all, err
	}
	for variable, s := range b.slots {
		if block, ok := all[s.block]; ok {
			all[variable] = &Array{Shape: slices.Clone(s.shape), Data: slices.Clone(block.Data[s.from:s.to])}
		}
	}
	for _, p := range b.packs {
		for _, family := range p.families {
			delete(all, path.Join(family, p.block))
		}
	}
	if prefix == "" {
		return all, nil
	}
	return all.Sub(prefix), nil
}

func (b *Bank) unpacksBelow(prefix string) bool {
	for variable := range b.slots {
		if prefix == "" || strings.HasPrefix(variable, prefix+"/") {
			return true
		}
	}
	return false
}

// Vars resolves paths to the bank's variables in graph g: packed ones to parts of blocks.
func (b *Bank) Vars(g *graph.Graph) Vars {
	stored := FromStore(b.store, g)
	parts := map[string]*graph.Node{}
	return NewVars(func(p string) *graph.Node {
		s, packed := b.slots[p]
		if !packed {
			return stored.Find(p)
		}
		if n, ok := parts[p]; ok {
			return n
		}
		block := stored.Find(s.block)
		if block == nil {
			return nil
		}
		parts[p] = graph.Reshape(graph.Slice(block, graph.AxisRange(s.from, s.to)), s.shape...)
		return parts[p]
	})
}

// Assign sets new values at the end of a step, by carrier.
func (b *Bank) Assign(values map[string]*graph.Node) { Assign(b.store, values) }

// Gradients returns the gradients of a loss by the carriers, then by the other nodes. v
// must be the Vars that resolved the loss's variables.
func (b *Bank) Gradients(loss *graph.Node, v Vars, carriers []string, others ...*graph.Node) []*graph.Node {
	var nodes []*graph.Node
	for _, carrier := range carriers {
		parts := b.parts(carrier)
		if parts == nil {
			parts = []string{carrier}
		}
		for _, part := range parts {
			nodes = append(nodes, v.Get(part))
		}
	}
	all := graph.Gradient(loss, append(nodes, others...)...)
	var result []*graph.Node
	for _, carrier := range carriers {
		count := len(b.parts(carrier))
		if count == 0 {
			result, all = append(result, all[0]), all[1:]
			continue
		}
		flat := make([]*graph.Node, count)
		for j, g := range all[:count] {
			flat[j] = graph.Reshape(g, g.Shape().Size())
		}
		result, all = append(result, graph.Concatenate(flat, 0)), all[count:]
	}
	return append(result, all...)
}

func (b *Bank) parts(block string) []string {
	for _, p := range b.packs {
		if p.block == block {
			return p.members
		}
	}
	return nil
}
