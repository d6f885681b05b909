package feature_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/feature"
)

func ExampleExtractor() {
	network, err := feature.LoadONNX("testdata/tiny.onnx", feature.ONNXOptions{Size: 16})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	extractor, err := feature.NewExtractor(backend, network)
	if err != nil {
		log.Fatal(err)
	}
	defer extractor.Close()
	pictures := make([]uint8, 3*64*64*3) // three black ones
	features, err := extractor.Features(context.Background(), pictures, 3, 64)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s gives %d features a picture\n", network.Name(), len(features)/3)
	// Output: tiny gives 4 features a picture
}

func ExampleLPIPS() {
	network, err := feature.LoadLPIPS("lpips.safetensors") // a file of your own
	if err != nil {
		fmt.Println(err)
		return
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	runner, err := feature.NewLPIPSRunner(backend, network)
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	original, reconstruction := make([]uint8, 64*64*3), make([]uint8, 64*64*3)
	distances, err := runner.Distances(context.Background(), original, reconstruction, 1, 64)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("LPIPS (%s) %.4f\n", network.Name(), distances[0])
}
