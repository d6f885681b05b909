package weights

import (
	"fmt"
	"path"

	"github.com/gomlx/gomlx/core/graph"
)

// Vars resolves variable paths to nodes of the graph under construction.
// The zero value resolves nothing.
type Vars struct {
	prefix string
	find   func(path string) *graph.Node
}

// NewVars returns a resolver over find, which returns nil for unknown paths.
func NewVars(find func(path string) *graph.Node) Vars {
	return Vars{find: find}
}

// FromNodes resolves from a fixed map: how gradient tests feed parameters.
func FromNodes(nodes map[string]*graph.Node) Vars {
	return NewVars(func(p string) *graph.Node { return nodes[p] })
}

// In descends into a sub-path.
func (v Vars) In(format string, args ...any) Vars {
	return Vars{prefix: path.Join(v.prefix, fmt.Sprintf(format, args...)), find: v.find}
}

// Path is the full path of name.
func (v Vars) Path(name string) string { return path.Join(v.prefix, name) }

// Get returns the node of name. It panics when the model does not declare it,
// as graph-building code does on programming errors.
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
