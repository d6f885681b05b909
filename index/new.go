package index

import (
	"context"
	"fmt"
	"strings"
)

// Kinds lists the indexes that New makes: one that looks at all rows, at the lists
// nearest to the query, or along a graph of neighbours.
var Kinds = []string{"exact", "ivf", "hnsw"}

// New puts rows [n, d] into an index of a kind with its default options; an empty
// kind is exact.
func New(ctx context.Context, kind string, metric Metric, rows []float32, n, d int) (RowIndex, error) {
	switch kind {
	case "", "exact":
		return NewExact(metric, rows, n, d)
	case "ivf":
		return NewIVF(ctx, metric, rows, n, d, IVFOptions{})
	case "hnsw":
		return NewHNSW(ctx, metric, rows, n, d, HNSWOptions{})
	}
	return nil, fmt.Errorf("there is no index %q: use %s", kind, strings.Join(Kinds, ", "))
}
