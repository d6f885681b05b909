package main

import (
	"bytes"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
)

// silent is a set of streams into buffers.
func silent() (s *cli.Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Streams{Out: out, Err: err}, out, err
}
