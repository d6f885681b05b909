package codes_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/codes"
)

func Example() {
	var file bytes.Buffer
	w, err := codes.NewWriter(&file, codes.Header{Vocab: []uint32{256, 1000}, Rows: 4})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteRows([]uint32{7, 999, 255, 0, 1, 2}); err != nil {
		log.Fatal(err)
	}
	if err := w.WriteRows([]uint32{3, 4}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := codes.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	codes := make([]uint32, 2*r.Header().Levels())
	if err := r.ReadRows(1, 2, codes); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Header().BitsPerRow(), "bits a row:", codes)
	// Output: 18 bits a row: [255 0 1 2]
}
