package picture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/feature"
)

// Networks are the pretrained networks behind perceptual scores. The user
// provides their files; a score without its network is skipped.
type Networks struct {
	LPIPS    *feature.LPIPS  // of the perceptual distance
	Features feature.Network // of the Frechet and kernel distances

	dir string // where they were looked for
}

// FindNetworks loads the networks in a directory: the first lpips*.safetensors,
// and for features mobilenetv2.safetensors or else the first other .safetensors
// or .onnx file. One that is absent is skipped; one that cannot be read is an
// error. No directory ("") skips all.
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
		if n.Features, err = feature.Load(filepath.Join(dir, features)); err != nil {
			return n, fmt.Errorf("loading the network of features: %w", err)
		}
	}
	return n, nil
}

// chooseNetworks picks the files of LPIPS and of features from sorted names; ""
// is none.
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
	if tensors == "" {
		return perceptual, onnx
	}
	return perceptual, tensors
}

// Skipped lists the scores without a network, with a sentence about how to get
// it.
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
