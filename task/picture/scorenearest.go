package picture

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// comparedPictures bounds the pictures of a set, or pairs of them, that LPIPS compares: its standard error is then small.
const comparedPictures = 1000

// diversity computes the mean LPIPS of pairs of samples and of pairs of real pictures.
func (s *scoring) diversity(ctx context.Context) error {
	if s.lpips == nil {
		return nil
	}
	if min(len(s.samples.rows), len(s.reference.rows)) < 4 {
		s.skip("two pairs of pictures of both sets are needed", "diversity")
		return nil
	}
	var d Diversity
	for _, part := range []struct {
		of                  *seenSet
		mean, standardError *float64
		pairs               *int
	}{{s.samples, &d.Mean, &d.StandardError, &d.Pairs}, {s.reference, &d.Reference, &d.ReferenceError, new(int)}} {
		var a, b []int
		for _, p := range eval.DisjointPairs(len(part.of.rows), comparedPictures, s.Seed) {
			a, b = append(a, p[0]), append(b, p[1])
		}
		distances, err := s.compare(ctx, part.of, a, part.of, b)
		if err != nil {
			return err
		}
		mean, std := eval.MeanStd(distances)
		*part.mean, *part.standardError, *part.pairs = mean, std/math.Sqrt(float64(len(distances))), len(distances)
	}
	s.result.Diversity = &d
	return nil
}

// compare returns the LPIPS of pictures i[k] of set a and j[k] of set b, numbered among those that can be read.
func (s *scoring) compare(ctx context.Context, a *seenSet, i []int, b *seenSet, j []int) ([]float64, error) {
	const batch = 32
	line := s.watch.Line(len(i), "pairs")
	defer line.Done()
	var distances []float64
	for start := 0; start < len(i); start += batch {
		end := min(start+batch, len(i))
		x, err := a.pixels(i[start:end])
		if err != nil {
			return nil, err
		}
		y, err := b.pixels(j[start:end])
		if err != nil {
			return nil, err
		}
		more, err := s.lpips.Distances(ctx, x, y, end-start, s.size)
		if err != nil {
			return nil, err
		}
		distances = append(distances, more...)
		line.Update(int64(end), "compared with LPIPS")
	}
	return distances, nil
}

// pixels reads pictures again.
func (seen *seenSet) pixels(numbers []int) ([]uint8, error) {
	rows := make([]int, len(numbers))
	for k, i := range numbers {
		rows[k] = seen.rows[i]
	}
	pixels := make([]uint8, len(rows)*seen.Input())
	damaged, err := seen.Centre(rows, pixels)
	if err == nil && len(damaged) > 0 {
		err = fmt.Errorf("picture %s of %s could be read before and cannot now; do not change pictures while they are scored",
			seen.Key(rows[damaged[0]]), seen.Path())
	}
	return pixels, err
}

// neighbour is the picture of training nearest to another one in feature space.
type neighbour struct {
	distance float64
	item     int
}

// nearest compares the distances of samples and of held-out pictures to the nearest training picture.
func (s *scoring) nearest(ctx context.Context) error {
	if s.extractor == nil {
		return nil
	}
	finder, err := index.NewExact(index.Euclidean, s.reference.features, len(s.reference.rows), s.reference.dim)
	if err != nil {
		return err
	}
	find := func(set *seenSet) []neighbour {
		n := len(set.rows)
		items, squared := make([]uint32, n), make([]float32, n)
		finder.Search(set.features, n, 1, items, squared, index.SearchOptions{})
		found := make([]neighbour, n)
		for i := range found {
			found[i] = neighbour{math.Sqrt(float64(squared[i])), int(items[i])}
		}
		return found
	}
	samples, held := find(s.samples), []neighbour(nil)
	if s.held != nil {
		held = find(s.held)
	} else {
		s.skip("no held-out pictures were given as a yardstick; name some with --held", "nearest.share")
	}
	result := &Nearest{Percentile: s.Percentile}
	if result.Features, err = s.judge(distancesOf(samples), distancesOf(held)); err != nil {
		return err
	}
	if s.lpips != nil {
		ofSamples, err := s.perceptual(ctx, s.samples, samples)
		if err != nil {
			return err
		}
		var ofHeld []float64
		if s.held != nil {
			if ofHeld, err = s.perceptual(ctx, s.held, held); err != nil {
				return err
			}
		}
		if result.LPIPS, err = s.judge(ofSamples, ofHeld); err != nil {
			return err
		}
	}
	s.result.Nearest = result
	if s.Nearest == "" {
		return nil
	}
	drawing, err := s.nearestGrid(samples)
	if err != nil {
		return err
	}
	return draw.WritePNG(s.Nearest, drawing)
}

func distancesOf(found []neighbour) []float64 {
	var distances []float64
	for _, n := range found {
		distances = append(distances, n.distance)
	}
	return distances
}

// perceptual returns the LPIPS of pictures, evenly spaced, to their nearest training picture.
func (s *scoring) perceptual(ctx context.Context, set *seenSet, found []neighbour) ([]float64, error) {
	chosen := evenly(len(found), comparedPictures)
	items := make([]int, len(chosen))
	for k, i := range chosen {
		items[k] = found[i].item
	}
	return s.compare(ctx, set, chosen, s.reference, items)
}

func (s *scoring) judge(samples, held []float64) (*NearestDistances, error) {
	d := &NearestDistances{Median: eval.Percentile(samples, 50), Least: slices.Min(samples)}
	if len(held) == 0 {
		return d, nil
	}
	m, err := eval.CompareNearest(samples, held, s.Percentile)
	if err != nil {
		return nil, err
	}
	median := eval.Percentile(held, 50)
	d.HeldMedian, d.Threshold, d.Share = &median, &m.Threshold, &m.Share
	return d, nil
}

// shownNearest is the number of samples in a row of the drawing.
const shownNearest = 8

// nearestGrid draws the samples nearest to training, and others in even steps of distance, above their training pictures.
func (s *scoring) nearestGrid(found []neighbour) (*image.RGBA, error) {
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[a].distance, found[b].distance) })
	var rows []draw.Row
	for _, part := range []struct {
		title   string
		samples []int
	}{{"nearest samples", order[:min(shownNearest, len(order))]}, {"near to far", spread(order, shownNearest)}} {
		above, below := draw.Row{Title: part.title}, draw.Row{Title: "training"}
		for _, i := range part.samples {
			for _, p := range []struct {
				row  *draw.Row
				set  *seenSet
				item int
			}{{&above, s.samples, i}, {&below, s.reference, found[i].item}} {
				pixels, err := p.set.pixels([]int{p.item})
				if err != nil {
					return nil, err
				}
				m := images.NewRGB(s.size, s.size)
				copy(m.Pix, pixels)
				p.row.Pictures = append(p.row.Pictures, m)
			}
			below.Captions = append(below.Captions, fmt.Sprintf("%.3g", found[i].distance))
		}
		rows = append(rows, above, below)
	}
	return draw.Grid(rows, nil), nil
}

// spread returns values at even steps, the first and the last included.
func spread(values []int, most int) []int {
	chosen := make([]int, min(most, len(values)))
	for i := range chosen {
		chosen[i] = values[i*(len(values)-1)/max(len(chosen)-1, 1)]
	}
	return chosen
}
