// Command gritvq trains vector-quantized tokenizers and turns vectors into
// codes and back.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], systemStreams())) }
