package main

import (
	"fmt"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
)

// openCodes opens a file of codes. Packed files name their tokenizer; one of
// another tokenizer is refused unless force.
func openCodes(path string, b *bundle.Bundle, force bool) (*codes.File, error) {
	file, err := codes.Open(path)
	if err != nil {
		return nil, err
	}
	if made, known := file.Fingerprint(); known && made != b.Manifest.Fingerprint() && !force {
		file.Close()
		return nil, fmt.Errorf("%s was encoded by another tokenizer; give the one that made it, or --force to decode anyway", path)
	}
	return file, nil
}
