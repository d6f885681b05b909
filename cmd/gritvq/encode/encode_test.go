package encode

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
	cmd.SetArgs([]string{"tok", "x.npy", "-o", "c.gvq", "--levels", "2", "--beam", "8", "--workers", "3", "--drop-nonfinite", "--json",
		"--prior", "p"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	want := options{tokenize.EncodeOptions{CodingOptions: tokenize.CodingOptions{Dir: "tok", Input: "x.npy", Levels: 2, Beam: 8, Workers: 3,
		Drop: true, Backend: "go"}, Output: "c.gvq"}, "p", true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
