package artifact_test

import (
	"fmt"
	"log"
	"os"

	"github.com/gritvq/gritvq/artifact"
)

// A stored kind is one registration and a manifest that embeds Head.
var poems = artifact.Register(artifact.Kind{
	Names: []string{"poem"}, Title: "poem", Command: "gritvq rhyme", Usage: "-o", Schema: 1, Files: []string{"poem.txt"},
})

type poem struct {
	artifact.Head
	Lines int `json:"lines"`
}

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m := poem{Head: artifact.Provenance("gritvq v1", "gritvq rhyme -o poem"), Lines: 1}
	if err := poems.Write(dir, &m, artifact.Bytes("poem.txt", []byte("roses are red\n"))); err != nil {
		log.Fatal(err)
	}
	var back poem
	err = poems.Read(dir, &back)
	fmt.Println(back.Kind, back.Schema, back.Lines, back.Files[0].Name, back.Files[0].Size, err)
	// Output: poem 1 1 poem.txt 14 <nil>
}
