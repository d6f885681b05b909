package picture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// Networks are the pretrained networks behind perceptual scores; a score without its network is skipped.
type Networks struct {
	LPIPS    *feature.LPIPS  // of the perceptual distance
	Features feature.Network // of the Frechet and kernel distances

	dir      string // where they were looked for
	features string // file of the network of features
}

// MetricsDir is the given directory of metric networks, or the environment's.
func MetricsDir(given string) string {
	if dir := cmp.Or(given, os.Getenv("GRITVQ_METRICS")); dir != "" {
		return dir
	}
	if dir := os.Getenv("GRITVQ_DATA"); dir != "" {
		return filepath.Join(dir, "metrics")
	}
	return ""
}

// FindNetworks loads the networks in a directory: the first lpips*.safetensors, and for features mobilenetv2.safetensors
// or else the first other .safetensors or .onnx file. No directory ("") skips all.
func FindNetworks(dir string) (Networks, error) {
	n := Networks{dir: dir}
	if dir == "" {
		return n, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return n, fmt.Errorf("cannot look for the networks of scores: %w; check --metrics or GRITVQ_METRICS", err)
	}
	var names []string
	for _, entry := range entries { // sorted by name
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	perceptual, features := chooseNetworks(names)
	if perceptual != "" {
		if n.LPIPS, err = feature.LoadLPIPS(filepath.Join(dir, perceptual)); err != nil {
			return n, fmt.Errorf("loading LPIPS: %w", err)
		}
	}
	if features != "" {
		n.features = filepath.Join(dir, features)
		if n.Features, err = feature.Load(n.features); err != nil {
			return n, fmt.Errorf("loading the network of features: %w", err)
		}
	}
	return n, nil
}

// chooseNetworks picks the files of LPIPS and of features from sorted names, or "".
func chooseNetworks(names []string) (perceptual, features string) {
	const preferred = "mobilenetv2.safetensors"
	var tensors, onnx string
	for _, name := range slices.Backward(names) { // the first stays
		lower := strings.ToLower(name)
		switch extension := filepath.Ext(lower); {
		case extension == ".safetensors" && strings.HasPrefix(lower, "lpips"):
			perceptual = name
		case extension == ".safetensors" && strings.ToLower(tensors) != preferred:
			tensors = name
		case extension == ".onnx":
			onnx = name
		}
	}
	return perceptual, cmp.Or(tensors, onnx)
}

// Skipped says for every score without a network how to get it.
func (n Networks) Skipped() []string {
	if n.dir == "" && n.LPIPS == nil && n.Features == nil {
		return []string{"LPIPS, the Frechet distance and KID are skipped: they need pretrained networks; " +
			"name a directory that holds them with --metrics or the environment variable GRITVQ_METRICS."}
	}
	where := ""
	if n.dir != "" {
		where = " in " + n.dir
	}
	var skipped []string
	if n.LPIPS == nil {
		skipped = append(skipped, fmt.Sprintf("LPIPS is skipped: there is no lpips*.safetensors%s; put one there, with torchvision's backbone "+
			"(features.0.weight and so on) and the published heads (lin0.weight and so on).", where))
	}
	if n.Features == nil {
		skipped = append(skipped, fmt.Sprintf("The Frechet distance and KID are skipped: there is no network of features%s; "+
			"put mobilenetv2.safetensors or an ONNX export, such as of Inception, there.", where))
	}
	return skipped
}

// keptFeatures bounds the pictures used by the kernel distance. The Frechet distance uses all.
const keptFeatures = 10000

type perception struct {
	networks Networks
	size     int // side of the pictures
	every    int // every n-th picture is kept for the kernel distance

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

func newPerception(backend compute.Backend, networks Networks, size, total int) (p *perception, err error) {
	p = &perception{networks: networks, size: size, every: 1 + (total-1)/keptFeatures}
	if backend == nil && (networks.LPIPS != nil || networks.Features != nil) {
		return nil, errors.New("LPIPS and features need an engine to run on; give one in the options")
	}
	if networks.LPIPS != nil && size >= feature.SmallestPicture {
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

func (p *perception) score(ctx context.Context, s *Scores) error {
	switch {
	case p.lpips != nil:
		s.LPIPS, s.LPIPSNetwork = p.distances/float64(p.images), p.networks.LPIPS.Name()
	case p.networks.LPIPS != nil:
		s.Notes = append(s.Notes, fmt.Sprintf("LPIPS is skipped: it compares pictures of at least %d x %d pixels, these are %d x %d.",
			feature.SmallestPicture, feature.SmallestPicture, p.size, p.size))
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
