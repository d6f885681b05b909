package main

import (
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// Methods of ids that gritvq methods does not list: the rows of the paper's
// recommendation table that are no quantizer of their own.
const (
	denseIDs = "dense" // numbers without meaning, see semid.Numbering
	slicedVQ = "vqvae" // ste over slices of the latent
)

// idsMethodsHelp says how each row of the paper's table is made.
const idsMethodsHelp = `Rows of the paper's recommendation table. All give --levels codes of --codes values:

  Dense ID       --method dense        item numbers in random order: no content, no training
  LSH            --method lsh          signs at log2 K random planes a code, through the mean of the
                                       embeddings themselves: no network, no training
  k-means + STE  --method kmeans-ste   a slice of the latent a code, running k-means in each
  VQ-VAE         --method vqvae        a slice of the latent a code, codebook and commitment losses
                                       (ste with --levels 1 --parts 4)
  RQ-VAE, TIGER  --method rqvae        residual levels as published: k-means start on a batch, dead
                                       codes stay dead (ste is the same with warm-up and resets)
  SimVQ          --method simvq        residual levels
  NSVQ, DiVeQ    --method nsvq, diveq  residual levels
  GRIT-VQ        --method grit         residual levels`

// chooseMethod settles what --method stands for.
func (o *idsOptions) chooseMethod() error {
	names := append(vq.MethodNames(), denseIDs, slicedVQ)
	method, given := o.settings.Text("method"), o.settings.Given
	if !slices.Contains(names, method) {
		if near := config.Nearest(method, names); near != "" {
			return usage.Errorf("--method %s: did you mean %s?", method, near)
		}
		slices.Sort(names)
		return usage.Errorf("--method %s: use one of %s", method, strings.Join(names, ", "))
	}
	if o.dense = method == denseIDs; o.dense {
		for _, flag := range []string{"tokenizer", "config", "set"} {
			if given(flag) {
				return usage.Errorf("--method dense numbers the items and trains nothing; leave --%s out", flag)
			}
		}
		return nil
	}
	if o.tokenizer != "" {
		for _, flag := range []string{"method", "codes", "levels", "parts", "dim", "hidden", "steps", "batch", "preset", "config", "set", "seed"} {
			if given(flag) {
				return usage.Errorf("--tokenizer %s is used as it was trained; leave --%s out", o.tokenizer, flag)
			}
		}
	}
	sliced := method == slicedVQ
	o.layers = o.settings.Layers(false)
	o.layers.Defaults = idsDefaults
	if flags := o.layers.Flags; sliced {
		o.layers.Flags = func(c *vqtrain.Config) error {
			err := flags(c)
			c.Quantizer.Method = "ste"
			return err
		}
	}
	o.layers.Final = func(c *vqtrain.Config) {
		q := &c.Quantizer
		if sliced {
			q.Levels, q.Parts = 1, q.Levels*q.Parts
			return
		}
		// --levels is the length of an ID, also where codes lie side by side.
		arranged := *q
		arranged.Arrange(o.settings.Int("levels"), 1)
		if arranged.Parts > 1 && given("levels") && !given("parts") {
			*q = arranged
		}
	}
	return nil
}

// idsDefaults are the settings that ids starts from. Every item gets an ID, so
// every one is learned from; the last third of the preset's steps hardly changes
// IDs.
func idsDefaults(c *vqtrain.Config) {
	c.Train.Split, c.Train.Evaluate = 1, 0
	if !vq.Classical(c.Quantizer.Method) {
		c.Train.Steps = 2000
	}
}
