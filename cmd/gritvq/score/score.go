// Package score is the command gritvq score.
package score

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o picture.ScoreOptions
	var json bool
	cmd := &cobra.Command{
		Use:   "score SAMPLES PICTURES",
		Short: "Compare drawn pictures with real ones",
		Long: `Compares a set of drawn pictures (a folder, .tar or .zip) with real ones by the
features of a pretrained network: KID with a 95 % interval, the Frechet distance,
with more than 2,560 pictures in both sets also extrapolated to infinitely many,
precision and recall. LPIPS measures how diverse the samples are. The distances to
the nearest training picture, beside those of held-out pictures (--held), tell
whether samples were memorised.

KID leads, because it does not depend on the number of pictures. Samples are used
whole; of real pictures the centre is cut out as in training (--short).`,
		Example: `  gritvq score samples/ photos.tar --metrics networks/
  gritvq score samples.tar photos.tar --held photos-val.tar --json
  gritvq score samples.tar photos.tar --nearest nearest.png`,
		Args: cli.Arguments("SAMPLES", "PICTURES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Samples, o.Reference = args[0], args[1]
			return run(cmd.Context(), s, o, json)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Held, "held", "", "real pictures that were not trained on, the yardstick of memorising")
	f.StringVar(&o.Metrics, "metrics", "", "directory of metric networks (default $GRITVQ_METRICS)")
	f.IntVar(&o.Size, "size", 0, "side of the pictures (default that of the samples)")
	f.IntVar(&o.Short, "short", 0,
		"short side of real pictures before the centre is cut out\n(default as in training: 286 for 256; the size itself cuts nothing off)")
	f.IntVar(&o.Images, "images", 10000, "most pictures of each set, evenly spaced (0: all)")
	f.IntVar(&o.Neighbours, "neighbours", 3, "nearest neighbours of precision and recall")
	f.Float64Var(&o.Percentile, "percentile", 5, "percentile of held-out distances below which a sample counts as near")
	f.StringVar(&o.Nearest, "nearest", "", "draw samples beside their nearest training pictures (.png)")
	f.StringVar(&o.Cache, "cache", cacheDir(), "directory of features of real pictures, for the next call (\"\": none)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of resamples, subsets and pairs")
	f.Lookup("cache").DefValue = "" // it differs between users
	cli.WorkersFlag(cmd, &o.Workers)
	cli.BackendFlag(cmd, &o.Backend)
	cli.JSONFlag(cmd, &json, "the scores as")
	return cmd
}

// cacheDir is the place of cached features, or "" for a user without one.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gritvq", "features")
}

func run(ctx context.Context, s *cli.Streams, o picture.ScoreOptions, json bool) error {
	scores, err := picture.Score(ctx, o, s)
	if err != nil {
		return err
	}
	if json {
		return s.WriteJSON(scores)
	}
	if err := s.WriteTables([]report.Table{scores.Table()}); err != nil {
		return err
	}
	for _, line := range scores.Remarks() {
		s.Remark("%s", line)
	}
	return nil
}
