package feature

import (
	"fmt"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// LPIPS is the learned perceptual distance of Zhang et al. (2018), version 0.1:
// a backbone trained on ImageNet, whose activations are compared under weights
// fitted to human judgement.
//
// It is also a [Network]: its last activations, averaged over the picture.
type LPIPS struct {
	backbone  backbone
	variables weights.Set
}

// smallestPicture is the height and width below which the deepest activations
// of a backbone vanish or say nothing.
const smallestPicture = 32

func newLPIPS(file *safetensors.File) (*LPIPS, error) {
	b, err := identifyBackbone(file)
	if err != nil {
		return nil, err
	}
	set, err := b.read(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.name, err)
	}
	heads := 0
	for _, s := range b.stages {
		if !s.compared {
			continue
		}
		head, err := readArray(file, fmt.Sprintf("lin%d.weight", heads), 1, s.out, 1, 1)
		if err != nil {
			return nil, fmt.Errorf("reading the LPIPS heads of %s: %w", b.name, err)
		}
		head.Shape = []int{s.out}
		set[fmt.Sprintf("head%d", heads)] = head
		heads++
	}
	return &LPIPS{backbone: b, variables: set}, nil
}

// Name is the backbone's.
func (l *LPIPS) Name() string { return l.backbone.name }

// Input leaves the size free.
func (l *LPIPS) Input() Input { return Input{} }

// Variables returns the weights of backbone and heads.
func (l *LPIPS) Variables() weights.Set { return l.variables }
