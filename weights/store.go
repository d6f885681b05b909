package weights

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Install writes every variable of the set into the store, creating new ones.
func Install(store *model.Store, set Set) error {
	for _, p := range set.Paths() {
		a := set[p]
		value := tensors.FromFlatDataAndDimensions(a.Data, a.Shape...)
		if v := store.GetVariable("/" + p); v != nil {
			if err := v.SetValue(value); err != nil {
				return fmt.Errorf("setting variable %q: %w", p, err)
			}
			continue
		}
		if _, err := store.CreateVariable("/"+p, value); err != nil {
			return fmt.Errorf("creating variable %q: %w", p, err)
		}
	}
	return nil
}

// Read copies the store's variables below prefix ("" for all) to the host, without the
// prefix.
func Read(store *model.Store, prefix string) (Set, error) {
	set := Set{}
	for v := range store.IterVariables() {
		p := strings.TrimPrefix(v.Path(), "/")
		if prefix != "" {
			rest, ok := strings.CutPrefix(p, prefix+"/")
			if !ok {
				continue
			}
			p = rest
		}
		if strings.HasPrefix(v.Name(), "#") {
			continue // the engine's own
		}
		value, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("reading variable %q: %w", p, err)
		}
		if set[p], err = fromTensor(value); err != nil {
			return nil, fmt.Errorf("reading variable %q: %w", p, err)
		}
	}
	return set, nil
}

// FromTensors copies tensors to the host and releases them.
func FromTensors(values []*tensors.Tensor) ([]*Array, error) {
	arrays := make([]*Array, len(values))
	for i, value := range values {
		defer value.FinalizeAll()
		var err error
		if arrays[i], err = fromTensor(value); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}

func fromTensor(value *tensors.Tensor) (*Array, error) {
	data, err := tensors.CopyFlatData[float32](value)
	return &Array{Shape: append([]int{}, value.Shape().Dimensions...), Data: data}, err
}

// FromStore resolves paths to the store's variables in graph g, each to one node, so
// that its gradient is complete. The graph is marked as training: otherwise the embedded
// engine would compile the current values in as constants.
func FromStore(store *model.Store, g *graph.Graph) Vars {
	store.SetTraining(g, true)
	nodes := map[string]*graph.Node{}
	return NewVars(func(p string) *graph.Node {
		if n, ok := nodes[p]; ok {
			return n
		}
		v := store.GetVariable("/" + p)
		if v == nil {
			return nil
		}
		nodes[p] = v.NodeValue(g)
		return nodes[p]
	})
}

// Assign sets new values of the store's variables at the end of a step.
func Assign(store *model.Store, values map[string]*graph.Node) {
	for p, value := range values {
		v := store.GetVariable("/" + p)
		if v == nil {
			panic(fmt.Errorf("no variable %q to update", p))
		}
		v.SetNodeValue(value)
	}
}

// Vars resolves variable paths to nodes of the graph under construction. The zero value
// resolves nothing.
type Vars struct {
	prefix string
	find   func(path string) *graph.Node
}

// NewVars returns a resolver over find, which returns nil for unknown paths.
func NewVars(find func(path string) *graph.Node) Vars { return Vars{find: find} }

// FromNodes resolves from a fixed map: how gradient tests feed parameters.
func FromNodes(nodes map[string]*graph.Node) Vars {
	return NewVars(func(p string) *graph.Node { return nodes[p] })
}

// Until is v for graph code that is not to be finished once ctx has ended: looking up a variable then panics with the
// error of ctx, as graph code does. Graphs of thousands of levels take minutes to build.
func (v Vars) Until(ctx context.Context) Vars {
	return Vars{prefix: v.prefix, find: func(path string) *graph.Node {
		if err := ctx.Err(); err != nil {
			panic(err)
		}
		return v.find(path)
	}}
}

// In descends into a sub-path.
func (v Vars) In(format string, args ...any) Vars {
	return Vars{prefix: path.Join(v.prefix, fmt.Sprintf(format, args...)), find: v.find}
}

// Path is the full path of name.
func (v Vars) Path(name string) string { return path.Join(v.prefix, name) }

// Get returns the node of name. It panics when the model does not declare it.
func (v Vars) Get(name string) *graph.Node {
	if n := v.Find(name); n != nil {
		return n
	}
	panic(fmt.Errorf("variable %q is not declared by the model", v.Path(name)))
}

// Find returns the node of name, or nil.
func (v Vars) Find(name string) *graph.Node {
	if v.find == nil {
		return nil
	}
	return v.find(v.Path(name))
}

// Compiles reports an engine that compiles programs before it runs them, as XLA does for
// seconds or a minute: it wants few shapes, programs and variables.
func Compiles(backend compute.Backend) bool { return backend.Name() != "Go Backend" }
