package picture

import (
	"context"
	"errors"
	"fmt"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// smallestLPIPS is the side of the smallest pictures that LPIPS compares.
const smallestLPIPS = 32

// keptFeatures bounds the pictures whose features are kept for the kernel
// distance, which draws its subsets from them. The Frechet distance sees all.
const keptFeatures = 10000

// perception compares pictures through networks, batch by batch.
type perception struct {
	networks Networks
	size     int // side of the pictures
	every    int // one in so many pictures is kept for the kernel distance

	lpips     *feature.LPIPSRunner
	distances float64 // sum
	images    int

	extractor *feature.Extractor
	dim       int
	sides     [2]side // originals, reconstructions
}

// side holds the features of originals or reconstructions.
type side struct {
	all  eval.Features
	kept []float32
}

// newPerception prepares the networks for up to total pictures.
func newPerception(backend compute.Backend, networks Networks, size, total int) (p *perception, err error) {
	p = &perception{networks: networks, size: size, every: 1 + (total-1)/keptFeatures}
	if backend == nil && (networks.LPIPS != nil || networks.Features != nil) {
		return nil, errors.New("LPIPS and features need an engine to run on; give one in the options")
	}
	if networks.LPIPS != nil && size >= smallestLPIPS {
		if p.lpips, err = feature.NewLPIPSRunner(backend, networks.LPIPS); err != nil {
			return nil, err
		}
	}
	if networks.Features != nil {
		if p.extractor, err = feature.NewExtractor(backend, networks.Features); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *perception) close() {
	if p.lpips != nil {
		p.lpips.Close()
	}
	if p.extractor != nil {
		p.extractor.Close()
	}
}

// add compares a batch.
func (p *perception) add(ctx context.Context, c tokenizer.Coded) error {
	n := c.Items.N
	if n == 0 {
		return nil
	}
	if p.lpips != nil {
		distances, err := p.lpips.Distances(ctx, c.Items.Pixels, c.Decoded.Pixels, n, p.size)
		if err != nil {
			return err
		}
		for _, d := range distances {
			p.distances += d
		}
	}
	if p.extractor != nil {
		for i, pixels := range [][]uint8{c.Items.Pixels, c.Decoded.Pixels} {
			features, err := p.extractor.Features(ctx, pixels, n, p.size)
			if err != nil {
				return err
			}
			p.dim = len(features) / n
			if err := p.sides[i].all.Add(features, p.dim); err != nil {
				return err
			}
			for j := range n {
				if (p.images+j)%p.every == 0 {
					p.sides[i].kept = append(p.sides[i].kept, features[j*p.dim:(j+1)*p.dim]...)
				}
			}
		}
	}
	p.images += n
	return nil
}

// score fills in the scores of the networks.
func (p *perception) score(ctx context.Context, s *Scores) error {
	switch {
	case p.lpips != nil:
		s.LPIPS, s.LPIPSNetwork = p.distances/float64(p.images), p.networks.LPIPS.Name()
	case p.networks.LPIPS != nil:
		s.Notes = append(s.Notes, fmt.Sprintf("LPIPS is skipped: it compares pictures of at least %d x %d pixels, these are %d x %d.",
			smallestLPIPS, smallestLPIPS, p.size, p.size))
	}
	if p.extractor == nil {
		return nil
	}
	if p.images < 2 {
		s.Notes = append(s.Notes, "The Frechet distance and KID are skipped: they need at least 2 pictures.")
		return nil
	}
	var gaussians [2]eval.Gaussian
	for i := range gaussians {
		var err error
		if gaussians[i], err = p.sides[i].all.Gaussian(); err != nil {
			return err
		}
	}
	var err error
	if s.Frechet, err = eval.FrechetDistance(gaussians[0], gaussians[1]); err != nil {
		return err
	}
	kernel, err := eval.KernelDistance(ctx, p.sides[0].kept, p.sides[1].kept, p.dim, eval.KernelOptions{})
	if err != nil {
		return err
	}
	s.KID, s.KIDStd, s.FrechetNetwork = kernel.Mean, kernel.Std, p.networks.Features.Name()
	if p.images <= p.dim {
		s.Notes = append(s.Notes, fmt.Sprintf("Read KID, not the Frechet distance: %s pictures are too few for the covariance of %s features, "+
			"and the distance depends on their number.", report.Count(p.images), report.Count(p.dim)))
	}
	return nil
}
