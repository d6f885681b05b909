package decode

import (
	"context"
	"reflect"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/tokenize"
)

func TestOptions(t *testing.T) {
	var got options
	cmd := newCommand(&cli.Streams{}, func(_ context.Context, _ *cli.Streams, o options) error { got = o; return nil })
	cmd.SetArgs([]string{"tok", "c.gvq", "-o", "r.npy", "--force", "--backend", "xla:cuda", "--prior", "p"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := options{prior: "p",
		DecodeOptions: tokenize.DecodeOptions{Dir: "tok", Input: "c.gvq", Output: "r.npy", Force: true, Backend: "xla:cuda"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
