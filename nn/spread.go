package nn

import "github.com/gomlx/gomlx/core/graph"

// spread makes a [B, C] broadcast over the pixels of an image [B, pixels, C].
// The embedded engine broadcasts a middle axis element by element, and copies
// whole rows in a gather.
func spread(a *graph.Node, pixels int) *graph.Node {
	if !onEmbeddedEngine(a) {
		return graph.ExpandAxes(a, 1)
	}
	batch, channels := a.Shape().Dim(0), a.Shape().Dim(1)
	// Long rows copy faster: repeat within the row first.
	repeat := 1
	for pixels%(2*repeat) == 0 && repeat*channels < 1024 {
		repeat *= 2
	}
	a = rows(a, batch, repeat)
	return graph.Reshape(rows(graph.Reshape(a, batch, repeat*channels), batch, pixels/repeat), batch, pixels, channels)
}

// rows repeats every row of a [batch, width] count times: [batch · count, width].
func rows(a *graph.Node, batch, count int) *graph.Node {
	if count == 1 {
		return a
	}
	at := make([]int32, 0, batch*count)
	for b := range batch {
		for range count {
			at = append(at, int32(b))
		}
	}
	return gatherRows(a, at)
}
