package onnx_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/onnx"
)

func ExampleRead() {
	network, err := onnx.Read("testdata/residual.onnx", "")
	if err != nil {
		log.Fatal(err)
	}
	_, channels, height, width := network.InputShape()
	fmt.Printf("pictures of %d x %d with %d channels, %d weights\n", height, width, channels, network.Variables().Count())
	// Output: pictures of 31 x 26 with 3 channels, 1321 weights
}
