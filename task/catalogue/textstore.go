package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/safetensors"
)

// Save stores the encoder, so that texts that come later are embedded in the
// same space, bit for bit and on any machine.
func (e *TextEncoder) Save(path string) error {
	buckets := make([]int64, len(e.rarity))
	for bucket, column := range e.columns {
		buckets[column] = int64(bucket)
	}
	return safetensors.Write(path, []safetensors.Tensor{
		safetensors.FromFloat32("axes", []int{len(buckets), e.dim}, e.axes),
		safetensors.FromInt64("buckets", []int{len(buckets)}, buckets),
		safetensors.FromFloat32("rarity", []int{len(buckets)}, e.rarity),
	}, map[string]string{"format": "text encoder"})
}

// LoadText reads an encoder that Save stored, and checks it.
func LoadText(path string) (*TextEncoder, error) {
	file, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	e, err := decodeText(file)
	if err != nil {
		return nil, fmt.Errorf("%s is no encoder of texts (%w); copy it again or build the IDs anew", path, err)
	}
	return e, nil
}

func decodeText(file *safetensors.File) (*TextEncoder, error) {
	axes, err1 := file.Get("axes")
	buckets, err2 := file.Get("buckets")
	rarity, err3 := file.Get("rarity")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	if len(axes.Shape) != 2 || axes.Shape[1] < 1 || !slices.Equal(buckets.Shape, axes.Shape[:1]) || !slices.Equal(rarity.Shape, axes.Shape[:1]) {
		return nil, errors.New("its shapes do not agree")
	}
	e := &TextEncoder{dim: axes.Shape[1], columns: map[uint32]int32{}}
	e.axes, err1 = axes.Float32()
	e.rarity, err2 = rarity.Float32()
	list, err3 := buckets.Int64()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	for column, bucket := range list {
		if bucket < 0 || bucket >= textBuckets {
			return nil, fmt.Errorf("word %d has bucket %d", column, bucket)
		}
		e.columns[uint32(bucket)] = int32(column)
	}
	if len(e.columns) != len(list) {
		return nil, errors.New("two words share a bucket")
	}
	return e, nil
}
