// Command gritvq trains vector-quantized tokenizers and turns vectors and
// pictures into codes and back.
package main

import (
	"os"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
)

func main() { os.Exit(cli.Execute(os.Args[1:], cli.System(), newRootCommand)) }
