package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// scoredPictures bounds the training pictures that are scored at the end of a
// run.
const scoredPictures = 2000

// openPictures opens a set of pictures as squares; damaged ones are named once.
func openPictures(ctx context.Context, s *cli.Streams, path string, c tokenizer.Image, workers int) (*images.Set, error) {
	line := s.Line(0, "files")
	defer line.Done()
	return images.Open(ctx, path, images.Options{Size: c.Size, Short: c.Short, Workers: workers,
		Progress: func(done, total int64) {
			if total > 0 {
				line.Of(total, "") // bytes, or members of an archive
			}
			line.Update(done, "of "+path+" read")
		},
		Warn: func(d images.Damage) { s.Remark("%v; it is left out", &d) },
	})
}

// openPictureSource opens the pictures of a run and returns what identifies them.
func openPictureSource(ctx context.Context, s *cli.Streams, o trainOptions, c vqtrain.Config) (vqtrain.Source, string, error) {
	set, err := openPictures(ctx, s, o.input, c.Model.Image, o.workers)
	if err != nil {
		return vqtrain.Source{}, "", err
	}
	source := vqtrain.Source{Images: set, HeldImages: set}
	source.Train, source.Held = dataset.Split(set.Len(), 1-c.Train.Split, c.Seed)
	if o.held != "" {
		if source.HeldImages, err = openPictures(ctx, s, o.held, c.Model.Image, o.workers); err != nil {
			set.Close()
			return vqtrain.Source{}, "", err
		}
		source.Train, source.Held = dataset.All(set.Len()), dataset.All(source.HeldImages.Len())
	}
	fingerprint, err := set.Fingerprint()
	if err == nil && o.held != "" {
		var held string
		held, err = source.HeldImages.Fingerprint()
		fingerprint += " held " + held
	}
	if err != nil {
		source.Close()
	}
	return source, fingerprint, err
}

// metricsDir is the directory of metric networks: the flag, or the environment.
func metricsDir(flag string) string {
	if flag != "" {
		return flag
	}
	if dir := os.Getenv("GRITVQ_METRICS"); dir != "" {
		return dir
	}
	if dir := os.Getenv("GRITVQ_DATA"); dir != "" {
		return filepath.Join(dir, "metrics")
	}
	return ""
}

// defaultPerceptual is the weight of the perceptual loss where a network for it
// was given and no weight.
const defaultPerceptual = 0.1

// perceptual finds the network of the perceptual loss and settles its weight.
func perceptual(s *cli.Streams, o trainOptions, c *vqtrain.Config) (*feature.LPIPS, error) {
	explicit := o.settings.flags.Changed("perceptual") || c.Train.Perceptual > 0 || named(o.settings.sets, "train.perceptual")
	if explicit && c.Train.Perceptual == 0 {
		return nil, nil
	}
	dir := metricsDir(o.metrics)
	files, err := filepath.Glob(filepath.Join(dir, "lpips*.safetensors"))
	if err != nil || dir == "" || len(files) == 0 {
		if explicit {
			return nil, fmt.Errorf("the perceptual loss needs a file lpips*.safetensors: name its directory with --metrics, or pass --perceptual 0")
		}
		s.Remark("training without a perceptual loss: no network was given (--metrics DIR)")
		return nil, nil
	}
	network, err := feature.LoadLPIPS(files[0])
	if err != nil {
		return nil, err
	}
	if !explicit {
		c.Train.Perceptual = defaultPerceptual
	}
	s.Remark("perceptual loss: %s at weight %g", network.Name(), c.Train.Perceptual)
	return network, nil
}

// scorePictures evaluates the trained weights on held-out and training pictures.
func (e *experiment) scorePictures(ctx context.Context, s *cli.Streams, result *outcome) error {
	rows := e.source.Train.Head(scoredPictures)
	line := s.Line(rows.Len()+e.source.Held.Len(), "pictures")
	defer line.Done()
	done := 0
	count := func(p tokenizer.Pair) error {
		done += len(p.Rows)
		line.Update(int64(done), "scored")
		return nil
	}
	train, usage, err := result.runtime.EvaluatePictures(ctx, e.source.Images, rows, tokenizer.Options{}, count)
	if err != nil {
		return err
	}
	result.pictures.Train, result.usage = &train, usage
	if e.source.Held.Len() == 0 {
		return nil
	}
	held, _, err := result.runtime.EvaluatePictures(ctx, e.source.HeldImages, e.source.Held, tokenizer.Options{}, count)
	result.pictures.Held = &held
	return err
}

// pictureFlags are those of train and config for tokenizers of pictures.
type pictureFlags struct {
	size      int
	short     int
	down      int
	widths    string
	precision string
	weight    float64 // of the perceptual loss
}

var pictureFlagNames = []string{"size", "short", "down", "width", "precision", "perceptual"}

func (o *settings) addPictureFlags() {
	f := o.flags
	f.IntVar(&o.picture.size, "size", 256, "pictures: side of the squares the network sees")
	f.IntVar(&o.picture.short, "short", 0, "pictures: what short sides are reduced to before squares are cut: more shows the network the\n"+
		"detail of large photos (default 286 for --size 256, and in proportion)")
	f.IntVar(&o.picture.down, "down", 16, "pictures: pixels on the side of a code's cell, a power of two")
	f.StringVar(&o.picture.widths, "width", "64,128,128,256,256", "pictures: channels at every resolution")
	f.StringVar(&o.picture.precision, "precision", "f32", "pictures: arithmetic of the convolutions, f32 or bf16 (bf16 with XLA; the embedded engine computes in f32)")
	for name, usage := range map[string]string{
		"batch":  "vectors or pictures a step (default 1024, of pictures 64)",
		"codes":  "codes per level (default 256, of pictures 16384)",
		"dim":    "dimension of the latents (default 32, of pictures 256; 0: that of the vectors)",
		"levels": "residual levels, each coding what the ones before left over (default 4, of pictures 1)",
		"hidden": "vectors: widths of the hidden layers, or none to quantize the vectors themselves (default 512,256,128)",
	} {
		flag := f.Lookup(name)
		flag.Usage, flag.DefValue = usage, "" // the text says what depends on the kind
		if flag.Value.Type() == "int" {
			flag.DefValue = "0"
		}
	}
	f.Float64Var(&o.picture.weight, "perceptual", 0, "pictures: weight of the perceptual loss (default 0.1 where --metrics has a network, else 0)")
}

// forPictures says whether the settings are those of a tokenizer of pictures.
func (o *settings) forPictures() bool {
	return o.pictures || slices.ContainsFunc(pictureFlagNames, func(name string) bool {
		return o.flags.Lookup(name) != nil && o.flags.Changed(name)
	})
}

// applyPictureFlags copies the flags that were given.
func (o *settings) applyPictureFlags(c *vqtrain.Config) error {
	given := func(name string) bool { return o.flags.Lookup(name) != nil && o.flags.Changed(name) }
	image := &c.Model.Image
	if given("size") {
		image.Size = o.picture.size
	}
	if given("short") {
		image.Short = o.picture.short
	}
	if given("precision") {
		image.Precision = o.picture.precision
	}
	if given("perceptual") {
		c.Train.Perceptual = o.picture.weight
	}
	if given("width") {
		widths, err := parseWidths(o.picture.widths)
		if err != nil || len(widths) == 0 {
			return usage.Errorf("--width %s: write channels such as 64,128,256", o.picture.widths)
		}
		image.Widths = widths
	}
	if !given("down") {
		return nil
	}
	stages := 0
	for 1<<stages < o.picture.down {
		stages++
	}
	switch {
	case o.picture.down < 1 || 1<<stages != o.picture.down:
		return usage.Errorf("--down %d is no power of two", o.picture.down)
	case given("width") && image.Down() != o.picture.down:
		return usage.Errorf("--down %d needs %d widths, --width has %d", o.picture.down, stages+1, len(image.Widths))
	}
	for len(image.Widths) <= stages {
		image.Widths = append(image.Widths, image.Widths[len(image.Widths)-1])
	}
	image.Widths = image.Widths[:stages+1]
	return nil
}

// checkKind refuses settings for the other kind of input.
func (o *settings) checkKind(c vqtrain.Config, input string) error {
	switch pictures := dataset.KindOf(input).IsPictures(); {
	case pictures && !c.Model.Pictures():
		return usage.Errorf("%s holds pictures, and model.image.size is 0; the configuration is for vectors", input)
	case !pictures && c.Model.Pictures():
		return usage.Errorf("%s is a file of vectors, and the settings are for pictures", input)
	}
	return nil
}
