package codes_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/codes"
)

// stripes is a picture of 16 x 16 cells whose codes, 0 to 15, run from one side
// to the other.
func stripes(start int) []uint32 {
	var codes []uint32
	for i := range 16 * 16 {
		codes = append(codes, uint32(start+i%16)%16)
	}
	return codes
}

func ExampleEncode() {
	p := codes.Picture{Width: 125, Height: 128, Factor: 8, Vocab: []uint32{16}, Codes: stripes(3)}
	var file bytes.Buffer
	if _, err := codes.Encode(&file, p, nil); err != nil {
		log.Fatal(err)
	}
	got, err := codes.Decode(&file, p.Fingerprint, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.GridWidth(), "x", got.GridHeight(), "cells:", got.Codes[:4], "...")
	// Output: 16 x 16 cells: [3 4 5 6] ...
}

func ExampleTrain() {
	var grids []codes.CodeMap
	vectors := make([]float32, 16) // of one number each
	for i := range 16 {
		grids = append(grids, codes.CodeMap{Height: 16, Width: 16, Codes: stripes(i)})
		vectors[i] = float32(i)
	}
	model, err := codes.Train(context.Background(), grids, []uint32{16}, [][]float32{vectors})
	if err != nil {
		log.Fatal(err)
	}
	p := codes.Picture{Width: 128, Height: 128, Factor: 8, Vocab: []uint32{16}, Codes: stripes(3)}
	for _, m := range []*codes.Model{nil, model} {
		var file bytes.Buffer
		bits, err := codes.Encode(&file, p, m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d bytes, of which %d for the header\n", bits.Levels[0].Method, file.Len(), bits.Header/8)
	}
	// Output:
	// uniform: 152 bytes, of which 24 for the header
	// contextual: 26 bytes, of which 24 for the header
}
