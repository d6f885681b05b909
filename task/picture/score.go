package picture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// ScoreOptions name drawn pictures and the real ones that they are compared with.
type ScoreOptions struct {
	Samples    string  // drawn pictures, used whole
	Reference  string  // real pictures, usually those of training
	Held       string  // real pictures that were not trained on; may be empty
	Metrics    string  // directory of metric networks; empty: the environment's
	Backend    string  // see [engine.Choose]
	Size       int     // side of all pictures; 0 is that of the first sample
	Short      int     // short side of real pictures before the centre is cut out; 0 is that of training
	Images     int     // most pictures of each set, evenly spaced; 0 is all
	Neighbours int     // of precision and recall; 0 is 3
	Percentile float64 // of held-out distances below which a sample counts as near; 0 is 5
	Seed       uint64  // of resamples, subsets and pairs
	Nearest    string  // .png of samples beside their nearest training pictures; may be empty
	Cache      string  // directory of features of real pictures; empty: none are kept
	Workers    int     // threads that read pictures; 0 is all cores
}

func (o *ScoreOptions) check() error {
	o.Neighbours, o.Percentile = cmp.Or(o.Neighbours, 3), cmp.Or(o.Percentile, 5)
	switch {
	case o.Size < 0 || o.Short < 0 || o.Images < 0:
		return usage.Errorf("--size, --short and --images must not be negative")
	case o.Neighbours < 1:
		return usage.Errorf("--neighbours %d must be at least 1", o.Neighbours)
	case !(o.Percentile > 0 && o.Percentile < 100):
		return usage.Errorf("--percentile %g must lie between 0 and 100", o.Percentile)
	case o.Nearest == "":
		return nil
	case dataset.Extension(o.Nearest) != ".png":
		return usage.Errorf("%s: pictures are written as .png", o.Nearest)
	}
	return errors.Join(output.Check(o.Samples, o.Nearest), output.RefuseInput([]string{o.Nearest}, o.Reference, o.Held))
}

// scoring is the state of Score.
type scoring struct {
	ScoreOptions
	networks  Networks
	extractor *feature.Extractor // nil without a network of features
	lpips     *feature.LPIPSRunner
	backend   string
	watch     task.Watcher
	size      int

	samples, reference, held *seenSet // held may be nil
	result                   *SetScores
}

// Score compares a set of drawn pictures with real ones. Scores without a network or enough pictures are skipped, and
// named with the reason.
func Score(ctx context.Context, o ScoreOptions, watch task.Watcher) (*SetScores, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &scoring{ScoreOptions: o, watch: watch, result: emptyScores()}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	defer s.close()
	for _, part := range []struct {
		into  **seenSet
		path  string
		short int
		cache string
	}{{&s.samples, o.Samples, s.size, ""}, {&s.reference, o.Reference, o.Short, o.Cache}, {&s.held, o.Held, o.Short, o.Cache}} {
		if part.path == "" {
			continue
		}
		var err error
		if *part.into, err = s.see(ctx, part.path, part.short, part.cache); err != nil {
			return nil, err
		}
		s.result.Damaged += (*part.into).damaged
	}
	s.result.Samples, s.result.Reference, s.result.Size = len(s.samples.rows), len(s.reference.rows), s.size
	if s.held != nil {
		s.result.Held = len(s.held.rows)
	}
	for _, score := range []func(context.Context) error{s.kernel, s.distances, s.diversity, s.nearest} {
		if err := score(ctx); err != nil {
			return nil, err
		}
	}
	return s.result, nil
}

// prepare finds the size of the pictures and starts the networks.
func (s *scoring) prepare(ctx context.Context) (err error) {
	if s.networks, err = FindNetworks(MetricsDir(s.Metrics)); err != nil {
		return err
	}
	if s.networks.LPIPS == nil && s.networks.Features == nil {
		return fmt.Errorf("sets of pictures are compared by pretrained networks, and %s; name a directory that holds some with --metrics or the "+
			"environment variable GRITVQ_METRICS", noNetworks(s.networks.dir))
	}
	if s.size = s.Size; s.size == 0 {
		if s.size, err = firstSide(ctx, s.Samples, s.watch); err != nil {
			return err
		}
	}
	backend, err := engine.Choose(cmp.Or(s.Backend, "go"))
	if err != nil {
		return err
	}
	s.backend = backend.String()
	if s.networks.Features != nil {
		if s.extractor, err = feature.NewExtractor(backend, s.networks.Features); err != nil {
			return err
		}
		s.result.FeatureNetwork = orNull(s.networks.Features.Name())
	} else {
		s.skip(fmt.Sprintf("there is no network of features in %s; put mobilenetv2.safetensors or an ONNX export there", s.networks.dir),
			"kid", "frechet", "frechet_infinity", "precision", "recall", "density", "coverage", "nearest")
	}
	switch {
	case s.networks.LPIPS == nil:
		s.skip(fmt.Sprintf("there is no lpips*.safetensors in %s", s.networks.dir), "diversity", "nearest.lpips")
	case s.size < feature.SmallestPicture:
		s.skip(fmt.Sprintf("LPIPS compares pictures of at least %d x %d pixels, these are %d x %d",
			feature.SmallestPicture, feature.SmallestPicture, s.size, s.size), "diversity", "nearest.lpips")
	default:
		if s.lpips, err = feature.NewLPIPSRunner(backend, s.networks.LPIPS); err != nil {
			s.close()
			return err
		}
		s.result.LPIPSNetwork = orNull(s.networks.LPIPS.Name())
	}
	return nil
}

func noNetworks(dir string) string {
	if dir == "" {
		return "none was given"
	}
	return "there is none in " + dir
}

func (s *scoring) close() {
	if s.extractor != nil {
		s.extractor.Close()
	}
	if s.lpips != nil {
		s.lpips.Close()
	}
	for _, set := range []*seenSet{s.samples, s.reference, s.held} {
		if set != nil {
			set.Close()
		}
	}
}

func (s *scoring) skip(reason string, scores ...string) {
	s.result.Skipped = append(s.result.Skipped, Skip{scores, reason})
}

// firstSide is the shorter side of the first picture that can be read.
func firstSide(ctx context.Context, path string, watch task.Watcher) (int, error) {
	set, err := Open(ctx, path, images.Options{}, watch)
	if err != nil {
		return 0, err
	}
	defer set.Close()
	for i := range set.Len() {
		p, err := set.Whole(i)
		if _, damaged := errors.AsType[*images.Damage](err); damaged {
			continue
		}
		if err != nil {
			return 0, err
		}
		return min(p.Width, p.Height), nil
	}
	return 0, fmt.Errorf("none of the %d pictures of %s could be read", set.Len(), path)
}

// leastInfinite is the number of pictures that both sets must exceed for the extrapolated Frechet distance: twice the
// 1,280 features of MobileNetV2.
const leastInfinite = 2560

// kernel computes the kernel distances from the reference and from held-out pictures.
func (s *scoring) kernel(ctx context.Context) error {
	if s.extractor == nil {
		return nil
	}
	line := s.watch.Line(0, "")
	defer line.Done()
	line.Status("kernel distance")
	for _, part := range []struct {
		into    **eval.KernelInterval
		from    *seenSet
		missing []string // without enough pictures
	}{{&s.result.KID, s.reference, []string{"kid", "frechet"}}, {&s.result.KIDHeld, s.held, []string{"kid_held"}}} {
		if part.from == nil {
			continue
		}
		if n, m := len(s.samples.rows), len(part.from.rows); min(n, m) < 2 {
			s.skip(fmt.Sprintf("at least 2 pictures a set are needed, these are %d and %d", n, m), part.missing...)
			continue
		}
		kid, err := eval.KernelDistanceInterval(ctx, s.samples.features, part.from.features, s.samples.dim, eval.IntervalOptions{Seed: s.Seed})
		if err != nil {
			return err
		}
		*part.into = &kid
	}
	return nil
}

// distances computes the other scores of features: Frechet distances, precision and recall.
func (s *scoring) distances(ctx context.Context) (err error) {
	if s.extractor == nil {
		return nil
	}
	r, a, b, d := s.result, s.samples.features, s.reference.features, s.samples.dim
	n, m := len(s.samples.rows), len(s.reference.rows)
	line := s.watch.Line(0, "")
	defer line.Done()
	if min(n, m) >= 2 {
		line.Status("Frechet distance")
		if r.Frechet, err = frechetOf(a, b, d); err != nil {
			return err
		}
		if min(n, m) <= d {
			r.Notes = append(r.Notes, fmt.Sprintf("Do not use the Frechet distance: %s pictures are too few for the covariance of %s features.",
				report.Count(min(n, m)), report.Count(d)))
		}
	}
	if min(n, m) <= max(leastInfinite, 2*d) {
		s.skip(fmt.Sprintf("both sets need more than %s pictures, they have %s and %s",
			report.Count(max(leastInfinite, 2*d)), report.Count(n), report.Count(m)), "frechet_infinity")
	} else {
		line.Status("Frechet distance of infinitely many pictures")
		if r.FrechetInfinity, err = eval.FrechetInfinity(ctx, a, b, d, s.Seed); err != nil {
			return err
		}
	}
	if min(n, m) <= s.Neighbours {
		s.skip(fmt.Sprintf("balls of %d neighbours need more pictures in both sets than that, these are %d and %d", s.Neighbours, n, m),
			"precision", "recall", "density", "coverage")
		return nil
	}
	line.Status("precision and recall")
	r.Manifold, err = eval.CompareManifolds(ctx, a, b, d, s.Neighbours)
	return err
}

func frechetOf(a, b []float32, d int) (float64, error) {
	var gaussians [2]eval.Gaussian
	for i, rows := range [][]float32{a, b} {
		var all eval.Features
		if err := all.Add(rows, d); err != nil {
			return math.NaN(), err
		}
		var err error
		if gaussians[i], err = all.Gaussian(); err != nil {
			return math.NaN(), err
		}
	}
	return eval.FrechetDistance(gaussians[0], gaussians[1])
}
