package ids

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/tokenize"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// methodsHelp says how each row of the paper's table is made.
const methodsHelp = `Rows of the paper's recommendation table. All give --levels codes of --codes values:

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

// chooseMethod decides where the codes come from and returns the settings of a
// tokenizer that is to be trained.
func (o *options) chooseMethod() (tokenize.Settings, error) {
	layers := o.settings.Layers(false)
	method, names := o.settings.Text("method"), catalogue.Methods()
	if !slices.Contains(names, method) {
		if near := config.Nearest(method, names); near != "" {
			return layers, usage.Errorf("--method %s: did you mean %s?", method, near)
		}
		return layers, usage.Errorf("--method %s: use one of %s", method, strings.Join(names, ", "))
	}
	switch {
	case method == catalogue.DenseMethod:
		o.Dense = &catalogue.Dense{Seed: o.settings.Seed(), Levels: o.settings.Int("levels") * o.settings.Int("parts"), Codes: o.settings.Int("codes")}
		return layers, o.exclude("--method dense numbers the items and trains nothing", "tokenizer", "config", "set")
	case o.Tokenizer != "":
		return layers, o.exclude(fmt.Sprintf("--tokenizer %s is used as it was trained", o.Tokenizer),
			"method", "codes", "levels", "parts", "dim", "hidden", "steps", "batch", "preset", "config", "set", "seed")
	}
	layers.Defaults = catalogue.Defaults
	if flags := layers.Flags; method == catalogue.SlicedMethod {
		layers.Flags = func(c *vqtrain.Config) error {
			err := flags(c)
			c.Quantizer.Method = "ste"
			return err
		}
		layers.Final = func(c *vqtrain.Config) {
			c.Quantizer.Levels, c.Quantizer.Parts = 1, c.Quantizer.Levels*c.Quantizer.Parts
		}
		return layers, nil
	}
	layers.Final = func(c *vqtrain.Config) {
		// --levels is the length of an ID, also for codes side by side.
		arranged := c.Quantizer
		arranged.Arrange(o.settings.Int("levels"), 1)
		if arranged.Parts > 1 && o.settings.Given("levels") && !o.settings.Given("parts") {
			c.Quantizer = arranged
		}
	}
	return layers, nil
}

// exclude refuses flags that cannot be given, for a reason.
func (o *options) exclude(reason string, flags ...string) error {
	for _, flag := range flags {
		if o.settings.Given(flag) {
			return usage.Errorf("%s; leave --%s out", reason, flag)
		}
	}
	return nil
}
