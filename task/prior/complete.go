package prior

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/phase"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

// upper is what is known of a picture whose lower half is hidden.
type upper struct {
	picture *images.RGB // the lower half grey
	given   []int32     // [Tokens] codes, -1 where they are not known
}

// codes are those to keep; a nil receiver knows none.
func (u *upper) codes() []int32 {
	if u == nil {
		return nil
	}
	return u.given
}

func (u *upper) sum() [sha256.Size]byte {
	var content []byte
	for _, code := range u.given {
		content = binary.LittleEndian.AppendUint32(content, uint32(code))
	}
	return sha256.Sum256(append(content, u.picture.Pix...))
}

// completion encodes the upper half of a picture.
func completion(ctx context.Context, p *Prior, r *tokenizer.Runtime, path string) (*upper, error) {
	image := r.Tokenizer().Spec.Model.Image
	half := image.Grid() / 2
	if p.Manifest.Pixels == 0 || half == 0 {
		return nil, usage.Errorf("--complete: the prior %s is not of pictures with an upper and a lower half; leave it out", p.dir)
	}
	pixels, err := readPicture(ctx, path, image)
	if err != nil {
		return nil, err
	}
	cut := half * image.Down()
	hideBelow(pixels, image.Size, cut)
	codes, err := r.Encode(ctx, dataset.PictureBatch(pixels, 1), tokenizer.Options{})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", path, err)
	}
	u := &upper{picture: images.NewRGB(image.Size, image.Size), given: make([]int32, len(codes))}
	const grey = 128
	for i := range u.picture.Pix {
		if u.picture.Pix[i] = grey; i < 3*image.Size*cut {
			u.picture.Pix[i] = pixels[i]
		}
	}
	known := knownCells(r.Tokenizer().Quantizer, image.Grid(), half)
	for i, code := range codes {
		if u.given[i] = -1; known[i/p.Model.Layout.Levels()] {
			u.given[i] = int32(code)
		}
	}
	return u, nil
}

// readPicture returns the centre of a picture, as training cuts it out.
func readPicture(ctx context.Context, path string, image tokenizer.Image) ([]uint8, error) {
	if kind := dataset.KindOf(path); kind == dataset.Pictures {
		return nil, usage.Errorf("--complete %s holds several pictures; name one", path)
	}
	set, err := images.Open(ctx, path, images.Options{Size: image.Size, Short: image.Short, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if _, err := set.Whole(0); err != nil {
		if damage, ok := errors.AsType[*images.Damage](err); ok {
			return nil, fmt.Errorf("--complete %s: the picture is damaged: %w; give another", path, damage.Err)
		}
		return nil, err
	}
	batch, _, err := set.Read([]int{0})
	return batch.Pixels, err
}

// hideBelow replaces the lines of a picture [size, size, 3] from cut on by the mirrored
// ones above. Encoders see around a cell: what is hidden must be gone before they look.
func hideBelow(pixels []uint8, size, cut int) {
	for y := cut; y < size; y++ {
		from := (y - cut) % (2 * cut)
		if from = cut - 1 - from; from < 0 {
			from = -1 - from
		}
		copy(pixels[3*size*y:3*size*(y+1)], pixels[3*size*from:])
	}
}

// knownCells says which cells of a square grid do not depend on those from line half on.
// Where cells are coded in phases, the meaning of a code depends on earlier phases around
// it: it is unknown if one of them is.
func knownCells(q vq.Quantizer, side, half int) []bool {
	phases, reach := 1, 0
	if phased, ok := q.(*vq.Phased); ok && phased.Conditioned() {
		phases, reach = q.Layout().Phases, vq.ContextReach
	}
	known := make([]bool, side*side)
	for p, cells := range phase.Cells(phases, side, side) {
		for _, cell := range cells {
			known[cell] = cell/side < half
			for y := max(0, cell/side-reach); y <= min(side-1, cell/side+reach); y++ {
				for x := max(0, cell%side-reach); x <= min(side-1, cell%side+reach); x++ {
					if phase.Of(phases, y, x) < p && !known[y*side+x] {
						known[cell] = false
					}
				}
			}
		}
	}
	return known
}
