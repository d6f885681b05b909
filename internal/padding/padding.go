// Package padding gives the buffers of the embedded engine readable bytes behind their last element.
//
// The partial loads of Go 1.27's simd package (LoadFloat32sPart and its kin) read a whole vector and mask it afterwards, so
// that the engine reads up to 63 bytes beyond a tensor whose rows are not a multiple of the vector's width. Nothing is done
// with those bytes, but a tensor may be the last thing of the mapped heap, and then the read is a segmentation fault that no
// code can recover from. The engine has no option for this. It takes its buffers from pools, though, and a pool of package
// sync may have a function that makes what it lacks: [Add] sets one that makes longer buffers.
package padding

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Bytes is the width of the widest vector: no load reads that far beyond its tensor.
const Bytes = 64

const name = "go" // of the embedded engine

// largest is the exponent of the largest size of a buffer, beyond every address space.
const largest = 46

var adding sync.Mutex

// Add pads all buffers that the embedded engine makes from now on; other engines, and those that have it, stay as they are.
func Add(backend compute.Backend) error {
	if backend.String() != name {
		return nil
	}
	adding.Lock()
	defer adding.Unlock()
	// One buffer shows what the pools and their keys are.
	sample, err := backend.BufferFromFlatData(0, []float32{0}, shapes.Make(dtypes.Float32, 1))
	if err != nil {
		return err
	}
	layout, err := layoutOf(backend, sample)
	if err != nil {
		return err
	}
	if padded(sample) {
		return nil
	}
	for _, size := range sizes() {
		layout.pools.Store(layout.key(size), &sync.Pool{New: func() any { return layout.buffer(size) }})
	}
	return nil
}

// padded says whether there is room behind a buffer.
func padded(buffer compute.Buffer) bool {
	raw := reflect.ValueOf(buffer).Elem().FieldByName("RawBytes").Bytes()
	return cap(raw)-len(raw) >= Bytes
}

// layout is how the engine keeps buffers: *buffers with the bytes RawBytes, in pools by a struct with their size.
type layout struct {
	pools        *sync.Map
	keys, values reflect.Type
}

func layoutOf(backend compute.Backend, sample compute.Buffer) (layout, error) {
	unknown := fmt.Errorf("github.com/gomlx/compute keeps the buffers of its engine %T in a way that gritvq does not know: "+
		"build with the version in gritvq's go.mod", backend)
	engine, buffer := reflect.ValueOf(backend), reflect.TypeOf(sample)
	pointsToStruct := func(t reflect.Type) bool { return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct }
	if !pointsToStruct(engine.Type()) || !pointsToStruct(buffer) {
		return layout{}, unknown
	}
	pools := engine.Elem().FieldByName("bufferPools")
	bytes, ok := buffer.Elem().FieldByName("RawBytes")
	if !pools.IsValid() || pools.Type() != reflect.TypeFor[sync.Map]() || !ok || bytes.Type != reflect.TypeFor[[]byte]() {
		return layout{}, unknown
	}
	l := layout{pools: (*sync.Map)(pools.Addr().UnsafePointer()), values: buffer.Elem()}
	l.pools.Range(func(key, _ any) bool {
		l.keys = reflect.TypeOf(key)
		return false
	})
	if l.keys == nil || l.keys.Kind() != reflect.Struct || l.keys.NumField() != 1 || l.keys.Field(0).Type.Kind() != reflect.Int {
		return layout{}, unknown
	}
	return l, nil
}

func (l layout) key(size int) any {
	key := reflect.New(l.keys)
	*(*int)(unsafe.Pointer(key.Pointer())) = size // its only field, which is not exported
	return key.Elem().Interface()
}

func (l layout) buffer(size int) any {
	buffer := reflect.New(l.values)
	buffer.Elem().FieldByName("RawBytes").SetBytes(make([]byte, size, size+Bytes))
	return buffer.Interface()
}

// sizes are those of the engine's buffers: powers of two, and the middles between them.
func sizes() []int {
	list := []int{0, 1}
	for exponent := range largest {
		list = append(list, 2<<exponent, 3<<exponent)
	}
	return list
}
