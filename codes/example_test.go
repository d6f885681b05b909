package codes_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

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

func ExampleCreate() {
	dir, err := os.MkdirTemp("", "codes")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "codes.jsonl")

	writer, err := codes.Create(path, codes.Content{Vocab: []int{256, 256}, Rows: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer writer.Abort()
	if err := writer.WriteRows([]uint32{3, 17, 255, 0}); err != nil {
		fmt.Println(err)
		return
	}
	if err := writer.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	content, _ := os.ReadFile(path)
	fmt.Print(string(content))
	// Output:
	// {"row":0,"codes":[3,17]}
	// {"row":1,"codes":[255,0]}
}
