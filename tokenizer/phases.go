package tokenizer

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/internal/phase"
	"github.com/gritvq/gritvq/vq"
)

// sending is the state of coding grids phase by phase: the quantized latents so far.
type sending struct {
	*Runtime
	cells  Cells
	dim    int
	phases int
	rows   [][]int   // of a grid, by phase
	sent   []float32 // [cells.Len(), dim]
}

func (r *Runtime) newSending(cells Cells) *sending {
	layout := r.tokenizer.Quantizer.Layout()
	return &sending{Runtime: r, cells: cells, dim: layout.Dim, phases: layout.Phases,
		rows: phase.Cells(layout.Phases, cells.Height, cells.Width), sent: make([]float32, cells.Len()*layout.Dim)}
}

// assignPhases finds the codes of latents phase by phase, each given the codes of the phases before.
func (r *Runtime) assignPhases(ctx context.Context, z []float32, cells Cells, levels, beam int, codes []uint32, workers int) error {
	s := r.newSending(cells)
	positions := len(codes) / max(1, cells.Len())
	return s.each(ctx, levels, func(p int, rows []int, shift, scale []float32) []uint32 {
		own, chosen := pick(z, rows, s.dim), make([]uint32, len(rows)*positions)
		r.phases[p].EncodeAround(own, shift, scale, len(rows), levels, beam, chosen, workers)
		for i, row := range rows {
			copy(codes[row*positions:], chosen[i*positions:(i+1)*positions])
		}
		return chosen
	})
}

// lookUpPhases returns the quantized latents [cells.Len(), Dim] of codes.
func (r *Runtime) lookUpPhases(ctx context.Context, codes []uint32, cells Cells, levels int) ([]float32, error) {
	s := r.newSending(cells)
	err := s.each(ctx, levels, func(_ int, rows []int, _, _ []float32) []uint32 { return pick(codes, rows, len(codes)/cells.Len()) })
	return s.sent, err
}

// each visits the phases in order. choose returns the codes of rows, which stand for shift + scale*c (nil: c itself).
func (s *sending) each(ctx context.Context, levels int, choose func(p int, rows []int, shift, scale []float32) []uint32) error {
	area := s.cells.Height * s.cells.Width
	for p, own := range s.rows {
		rows := make([]int, 0, s.cells.N*len(own))
		for first := 0; first < s.cells.Len(); first += area {
			for _, cell := range own {
				rows = append(rows, first+cell)
			}
		}
		if len(rows) == 0 {
			continue
		}
		var shift, scale []float32
		if p > 0 && s.condition != nil {
			both, err := s.conditions(ctx, p)
			if err != nil {
				return err
			}
			both = pick(both, rows, 2*s.dim)
			shift, scale = make([]float32, 0, len(rows)*s.dim), make([]float32, 0, len(rows)*s.dim)
			for i := range rows {
				shift = append(shift, both[2*i*s.dim:(2*i+1)*s.dim]...)
				scale = append(scale, both[(2*i+1)*s.dim:(2*i+2)*s.dim]...)
			}
		}
		quantized := make([]float32, len(rows)*s.dim)
		if err := s.Runtime.phases[p].DecodeAround(choose(p, rows, shift, scale), shift, scale, len(rows), levels, quantized); err != nil {
			return fmt.Errorf("phase %d: %w", p, err)
		}
		for i, row := range rows {
			copy(s.sent[row*s.dim:], quantized[i*s.dim:(i+1)*s.dim])
		}
	}
	return nil
}

// conditions returns the shift and the scale [cells.Len(), 2*dim] of all cells in phase p. Grids are cut into tiles of the
// size seen in training; what a tile sees around it makes the cut of no consequence.
func (s *sending) conditions(ctx context.Context, p int) ([]float32, error) {
	const reach = vq.ContextReach
	side := s.tokenizer.modality.grid()
	down, across := (s.cells.Height+side-1)/side, (s.cells.Width+side-1)/side
	tiles, seen := s.cells.N*down*across, side+2*reach
	result := make([]float32, s.cells.Len()*2*s.dim)
	shape, block := []int{seen, seen, s.dim + 1}, s.tokenizer.modality.block()
	for start := 0; start < tiles; start += block {
		count := min(block, tiles-start)
		input := make([]float32, count*seen*seen*(s.dim+1))
		visit := func(tile, around int, cell func(y, x, at int)) { // at is the cell's number in a tile with its surroundings
			item, top, left := tile/(down*across), tile/across%down*side, tile%across*side
			for y := max(0, top-around); y < min(s.cells.Height, top+side+around); y++ {
				for x := max(0, left-around); x < min(s.cells.Width, left+side+around); x++ {
					cell(item*s.cells.Height+y, x, (y-top+around)*(side+2*around)+x-left+around)
				}
			}
		}
		for i := range count {
			visit(start+i, reach, func(y, x, at int) {
				if phase.Of(s.phases, y%s.cells.Height, x) >= p {
					return
				}
				cell := input[(i*seen*seen+at)*(s.dim+1):][:s.dim+1]
				copy(cell, s.sent[(y*s.cells.Width+x)*s.dim:][:s.dim])
				cell[s.dim] = 1
			})
		}
		output, err := run[float32, float32](ctx, s.condition[p], input, count, block, shape, side*side*2*s.dim)
		if err != nil {
			return nil, err
		}
		for i := range count {
			visit(start+i, 0, func(y, x, at int) {
				copy(result[(y*s.cells.Width+x)*2*s.dim:], output[(i*side*side+at)*2*s.dim:][:2*s.dim])
			})
		}
	}
	return result, nil
}

// pick returns rows of x [n,width].
func pick[T any](x []T, rows []int, width int) []T {
	out := make([]T, 0, len(rows)*width)
	for _, row := range rows {
		out = append(out, x[row*width:(row+1)*width]...)
	}
	return out
}
