package picture

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/tokenizer"
)

// untrainedRuntime stands for the runtime of a bundle: 16 pixels a side, a code
// for every 4 x 4 of them.
func untrainedRuntime(ctx context.Context) (*tokenizer.Runtime, error) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	return startUntrained(ctx, backend, 16, []int{8, 8, 8}, 1, 1)
}

// A picture of any size becomes one grid of codes, and a picture again.
func ExampleEncoder() {
	ctx := context.Background()
	runtime, err := untrainedRuntime(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()
	e := Encoder{Runtime: runtime}
	grid, err := e.Encode(ctx, smooth(75, 50))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grid.GridWidth, "x", grid.GridHeight, "cells,", len(grid.Codes), "codes")
	decoded, err := e.Decode(ctx, grid)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decoded.Width, "x", decoded.Height, "pixels")
	// Output:
	// 19 x 13 cells, 247 codes
	// 75 x 50 pixels
}

// Scores that need a network which is not there are null, with a reason.
func ExampleEvaluate() {
	ctx := context.Background()
	runtime, err := untrainedRuntime(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()
	set, err := openScenes(ctx, 20, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	networks, err := FindNetworks("") // nothing given
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, _, err := Evaluate(ctx, runtime, set, dataset.All(set.Len()), networks, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := json.Marshal(map[string]any{"images": scores.Images, "codes in use": scores.Utilization.Mean > 0.5})
	fmt.Println(string(content), err)
	fmt.Println(len(networks.Skipped()), "sentence on what was skipped")
	// Output:
	// {"codes in use":true,"images":20} <nil>
	// 1 sentence on what was skipped
}

// What became of some pictures, for a page.
func ExampleSample() {
	ctx := context.Background()
	runtime, err := untrainedRuntime(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()
	set, err := openScenes(ctx, 20, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	sample, err := Take(ctx, runtime, set, dataset.All(set.Len()), tokenizer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	grid, err := sample.Grid(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := sample.Figures()
	fmt.Println("a picture of", grid.Rect.Size(), "pixels,", len(parts), "parts of a page,", err)
	// Output: a picture of (772,642) pixels, 2 parts of a page, <nil>
}

// A picture on disk, as codes that a model of their neighbourhood makes small.
func ExampleFiles() {
	ctx := context.Background()
	runtime, err := untrainedRuntime(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()
	set, err := openScenes(ctx, 50, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	model, err := TrainEntropy(ctx, runtime, set, dataset.All(set.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "recon")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files := Files{Tokenizer: runtime.Tokenizer(), Entropy: model} // and the bundle's Fingerprint
	grid, err := Encoder{Runtime: runtime}.Encode(ctx, smooth(75, 50))
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, "waves.gvqi")
	bits, err := files.Write(ctx, path, grid)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, err := files.Read(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	plain := math.Log2(24) * float64(len(grid.Codes))
	fmt.Println("same codes:", slices.Equal(back.Codes, grid.Codes), "fewer bits:", float64(bits.Payload) < plain)
	// Output: same codes: true fewer bits: true
}
