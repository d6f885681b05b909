package catalogue

import (
	"fmt"

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
	damaged := func(why any) error {
		return fmt.Errorf("%s is no encoder of texts (%v); copy it again or build the IDs anew", path, why)
	}
	e := &TextEncoder{columns: map[uint32]int32{}}
	axes, err := file.Get("axes")
	if err != nil {
		return nil, damaged(err)
	}
	buckets, err := file.Get("buckets")
	if err != nil {
		return nil, damaged(err)
	}
	rarity, err := file.Get("rarity")
	if err != nil {
		return nil, damaged(err)
	}
	if len(axes.Shape) != 2 || axes.Shape[1] < 1 || len(buckets.Shape) != 1 || len(rarity.Shape) != 1 ||
		buckets.Shape[0] != axes.Shape[0] || rarity.Shape[0] != axes.Shape[0] {
		return nil, damaged("its shapes do not agree")
	}
	e.dim = axes.Shape[1]
	if e.axes, err = axes.Float32(); err != nil {
		return nil, damaged(err)
	}
	if e.rarity, err = rarity.Float32(); err != nil {
		return nil, damaged(err)
	}
	list, err := buckets.Int64()
	if err != nil {
		return nil, damaged(err)
	}
	for column, bucket := range list {
		if bucket < 0 || bucket >= textBuckets {
			return nil, damaged(fmt.Sprintf("word %d has bucket %d", column, bucket))
		}
		e.columns[uint32(bucket)] = int32(column)
	}
	if len(e.columns) != len(list) {
		return nil, damaged("two words share a bucket")
	}
	return e, nil
}
