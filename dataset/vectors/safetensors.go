package vectors

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gritvq/gritvq/internal/rowfile"
	"github.com/gritvq/gritvq/safetensors"
)

var safetensorsFormat = format{Format: rowfile.Format{Extension: ".safetensors"}, open: openSafetensors, selects: true}

// openSafetensors returns one tensor of the file, read in place.
func openSafetensors(_ context.Context, f source, opt Options) (*Vectors, error) {
	tensors, _, err := safetensors.Index(f, f.size)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid safetensors file (%w); copy or write it again", f.path, err)
	}
	tensor, err := chooseTensor(f.path, tensors, opt.Member)
	if err != nil {
		return nil, err
	}
	table := &rowfile.Table[float32]{
		Path: f.path + ":" + tensor.Name, Reader: f, Offset: tensor.Offset, Rows: tensor.Shape[0], Cols: tensor.Shape[1],
		Element: tensorElements[tensor.DType],
	}
	return newVectors(table.Path, table.Rows, table.Cols, table, f), nil
}

var tensorElements = func() map[safetensors.DType]rowfile.Element[float32] {
	half, _ := floatElement("<f2")
	single, _ := floatElement("<f4")
	double, _ := floatElement("<f8")
	return map[safetensors.DType]rowfile.Element[float32]{
		safetensors.F16: half, safetensors.BF16: bfloatElement(), safetensors.F32: single, safetensors.F64: double,
	}
}()

// bfloatElement is the upper half of a little-endian float32.
func bfloatElement() rowfile.Element[float32] {
	return rowfile.Element[float32]{Size: 2, Decode: func(dst []float32, src []byte) int {
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(src[2*i])<<16 | uint32(src[2*i+1])<<24)
		}
		return -1
	}}
}

// checkTensor says whether a tensor can be vectors.
func checkTensor(path string, t safetensors.Extent) error {
	_, known := tensorElements[t.DType]
	switch {
	case !known:
		return fmt.Errorf("%s:%s holds %s, expected F16, BF16, F32 or F64; save it with .float()", path, t.Name, t.DType)
	case len(t.Shape) != 2:
		return fmt.Errorf("%s:%s has shape %v, expected (rows, dim); save t.reshape(-1, t.shape[-1]), or t.flatten(1) for one vector per item",
			path, t.Name, t.Shape)
	case t.Shape[0] == 0 || t.Shape[1] == 0:
		return fmt.Errorf("%s:%s is empty (shape %v); check what was saved", path, t.Name, t.Shape)
	case t.Shape[1] > maxDim:
		return fmt.Errorf("%s:%s has %d columns, at most %d are supported; rows are vectors, so it may need a transpose",
			path, t.Name, t.Shape[1], maxDim)
	}
	return nil
}

// chooseTensor finds the wanted tensor, or the only one that can be vectors.
func chooseTensor(path string, tensors []safetensors.Extent, wanted string) (t safetensors.Extent, err error) {
	if len(tensors) == 0 {
		return t, fmt.Errorf("%s holds no tensors; write it with safetensors.torch.save_file", path)
	}
	var all, usable []string
	for _, candidate := range tensors {
		if wanted != "" && candidate.Name == wanted {
			return candidate, checkTensor(path, candidate)
		}
		summary := fmt.Sprintf("%s %s %v", candidate.Name, candidate.DType, candidate.Shape)
		all = append(all, summary)
		if checkTensor(path, candidate) == nil {
			if usable = append(usable, summary); len(usable) == 1 {
				t = candidate
			}
		}
	}
	switch {
	case wanted != "":
		return t, fmt.Errorf("%s has no tensor %q; it holds %s", path, wanted, listed(all))
	case len(usable) == 0 && len(tensors) == 1:
		return t, checkTensor(path, tensors[0])
	case len(usable) == 0:
		return t, fmt.Errorf("%s has no 2-d tensor of F16, BF16, F32 or F64; it holds %s", path, listed(all))
	case len(usable) > 1:
		return t, fmt.Errorf("%s has several tensors of vectors (%s); choose one, as in %s:%s", path, listed(usable), path, t.Name)
	}
	return t, nil
}

// listed names the first things of a list.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
