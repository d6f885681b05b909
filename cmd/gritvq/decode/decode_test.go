package decode

import (
	"context"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/tokenize"
)

func TestOptions(t *testing.T) {
	var got options
	cmd := newCommand(&cli.Streams{}, func(_ context.Context, _ *cli.Streams, o options) error { got = o; return nil })
	cmd.SetArgs([]string{"tok", "c.gvq", "-o", "r.npy", "--force", "--backend", "xla:cuda"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := options{DecodeOptions: tokenize.DecodeOptions{Dir: "tok", Input: "c.gvq", Output: "r.npy", Force: true, Backend: "xla:cuda"}}
	if got != want {
		t.Errorf("got %+v", got)
	}
}
