package safetensors_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/safetensors"
)

func Example() {
	codebook := safetensors.FromFloat32("codebook", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	var stored bytes.Buffer
	if err := safetensors.Encode(&stored, []safetensors.Tensor{codebook}, map[string]string{"format": "1"}); err != nil {
		log.Fatal(err)
	}

	file, err := safetensors.Decode(stored.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	tensor, err := file.Get("codebook")
	if err != nil {
		log.Fatal(err)
	}
	values, err := tensor.Float32()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tensor.Shape, values, file.Metadata["format"])
	// Output: [2 3] [1 2 3 4 5 6] 1
}
