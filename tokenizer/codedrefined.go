package tokenizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gritvq/gritvq/index"
)

// decodedTogether bounds the candidates that are decoded at a time.
const decodedTogether = 1 << 15

// searchRefined compares queries x [n,input], whose latents are z, with the reconstructions of the rows that have the
// nearest sums of codes.
func (c *CodedRows) searchRefined(ctx context.Context, x, z []float32, n, k int, items []uint32, distances []float32,
	opt index.SearchOptions) error {
	d, wanted := c.runtime.tokenizer.Input, max(k, c.Candidates(k))
	together := max(1, decodedTogether/wanted) // queries
	near := make([]uint32, min(n, together)*wanted)
	for from := 0; from < n; from += together {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(together, n-from)
		near := near[:count*wanted]
		c.lookup.Search(z[from*d:], count, wanted, near, nil, opt)
		rows := slices.Compact(slices.Sorted(slices.Values(near)))
		if len(rows) > 0 && rows[len(rows)-1] == index.Missing {
			rows = rows[:len(rows)-1]
		}
		decoded, err := c.decodeRows(ctx, rows)
		if err != nil {
			return err
		}
		for q := range count {
			at := (from + q) * k
			c.rankRefined(x[(from+q)*d:(from+q+1)*d], near[q*wanted:(q+1)*wanted], rows, decoded, items[at:at+k], distances[at:at+k])
		}
	}
	return nil
}

// decodeRows returns the reconstructions [len(rows),input] of rows.
func (c *CodedRows) decodeRows(ctx context.Context, rows []uint32) ([]float32, error) {
	codes := make([]uint32, 0, len(rows)*c.positions)
	for _, row := range rows {
		codes = append(codes, c.codes[int(row)*c.positions:(int(row)+1)*c.positions]...)
	}
	decoded, err := c.runtime.Decode(ctx, codes, len(rows), c.positions)
	return decoded.Values, err
}

// rankRefined writes the rows of near whose reconstructions are nearest to a query, of equal ones the lowest first. decoded
// are those of the sorted rows.
func (c *CodedRows) rankRefined(query []float32, near, rows []uint32, decoded []float32, items []uint32, distances []float32) {
	type ranked struct {
		row      uint32
		distance float64
	}
	var list []ranked
	d := len(query)
	for _, row := range near {
		if at, ok := slices.BinarySearch(rows, row); ok {
			list = append(list, ranked{row, index.SquaredDistance(query, decoded[at*d:(at+1)*d])})
		}
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.row, b.row))
	})
	for i := range items {
		items[i], distances[i] = index.Missing, float32(math.Inf(1))
		if i < len(list) {
			items[i], distances[i] = list[i].row, float32(list[i].distance)
		}
	}
}
