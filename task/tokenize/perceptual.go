package tokenize

import (
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// defaultPerceptual is the weight of a perceptual loss that has a network and no chosen weight.
const defaultPerceptual = 0.1

// perceptual finds the network of the perceptual loss and sets its weight.
func (in Input) perceptual(c *vqtrain.Config, watch task.Watcher) (*feature.LPIPS, error) {
	chosen := in.FixedPerceptual || c.Train.Perceptual > 0
	if chosen && c.Train.Perceptual == 0 {
		return nil, nil
	}
	dir := picture.MetricsDir(in.Metrics)
	files, err := filepath.Glob(filepath.Join(dir, "lpips*.safetensors"))
	if err != nil || dir == "" || len(files) == 0 {
		if chosen {
			return nil, fmt.Errorf("the perceptual loss needs a file lpips*.safetensors: " +
				"name its directory with --metrics, or pass --perceptual 0")
		}
		watch.Remark("training without a perceptual loss: no network was given (--metrics DIR)")
		return nil, nil
	}
	const least = feature.SmallestPicture
	if size := c.Model.Image.Size; size < least {
		if chosen {
			return nil, usage.Errorf("the perceptual loss compares pictures of at least %d x %d pixels, not %d x %d: "+
				"pass --perceptual 0 or a larger --size", least, least, size, size)
		}
		watch.Remark("training without a perceptual loss: it compares pictures of at least %d x %d pixels", least, least)
		return nil, nil
	}
	network, err := feature.LoadLPIPS(files[0])
	if err != nil {
		return nil, err
	}
	if !chosen {
		c.Train.Perceptual = defaultPerceptual
	}
	watch.Remark("perceptual loss: %s at weight %g", network.Name(), c.Train.Perceptual)
	return network, nil
}
