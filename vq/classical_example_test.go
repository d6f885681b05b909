package vq_test

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/vq"
)

// corners are the four corners of a square and the points beside them.
var corners = vq.Latents{Rows: []float32{
	0, 0, 10, 0, 0, 10, 10, 10,
	1, 0, 11, 0, 1, 10, 11, 10,
}, N: 8, Dim: 2}

func ExampleKMeans() {
	c := vq.KMeans.Config()
	c.Codes, c.Levels = 4, 1
	fitted, err := vq.FitClassical(context.Background(), c, corners, vq.FitOptions{
		Watch: func(done, total int, meanSquare float64) {
			if meanSquare < 0.2 {
				fmt.Printf("error %.3f\n", meanSquare)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fitted.Variables["level0/codes"].Shape)
	// Output:
	// error 0.125
	// error 0.125
	// [4 2]
}

func ExamplePQ() {
	c := vq.PQ.Config()
	c.Codes = 2
	c.Arrange(2, 1) // two codes a vector: one for each coordinate
	fitted, err := vq.FitClassical(context.Background(), c, corners, vq.FitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range fitted.Variables.Paths() {
		codes := fitted.Variables[path].Data
		fmt.Println(path, min(codes[0], codes[1]), max(codes[0], codes[1]))
	}
	// Output:
	// part0/level0/codes 0.5 10.5
	// part1/level0/codes 0 10
}

func ExampleOPQ() {
	c := vq.OPQ.Config()
	c.Codes = 2
	c.Arrange(2, 1)
	fitted, err := vq.FitClassical(context.Background(), c, corners, vq.FitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Rotated(), fitted.Rotation.Shape)
	// Output: true [2 2]
}

func ExampleRQ() {
	c := vq.RQ.Config()
	c.Codes, c.Levels = 2, 3
	fitted, err := vq.FitClassical(context.Background(), c, corners, vq.FitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(fitted.Variables), "codebooks, encoded with a beam of", c.Beam)
	// Output: 3 codebooks, encoded with a beam of 16
}

func ExampleLSH() {
	c := vq.LSH.Config()
	c.Codes, c.Levels = 4, 1
	fitted, err := vq.FitClassical(context.Background(), c, corners, vq.FitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fitted.Variables["level0/state/planes"].Shape, fitted.Variables["level0/codes"].Shape)
	// Output: [2 2] [4 2]
}
