package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train"
	"github.com/spf13/cobra"
)

// silent is a set of streams into buffers.
func silent() (s *Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &Streams{Out: out, Err: err}, out, err
}

func TestFailuresAreOneSentence(t *testing.T) {
	for name, c := range map[string]struct {
		run  func() error
		code int
		text string
	}{
		"fine":   {func() error { return nil }, ExitOK, ""},
		"failed": {func() error { return errors.New("no") }, ExitFailed, "gritvq: no\n"},
		"usage":  {func() error { return usage.Errorf("bad %s", "flag") }, ExitUsage, "gritvq: bad flag\n"},
		"interrupted": {func() error { return fmt.Errorf("%w at step 3", train.ErrInterrupted) }, ExitInterrupted,
			"gritvq: interrupted at step 3\n"},
		"traced": {func() error { return errors.New("shapes differ:\n  at line 3\n  at line 4") }, ExitFailed,
			"gritvq: shapes differ (--debug shows where)\n"},
		"panic": {func() error { panic(errors.New("axis 3\nof 2")) }, ExitFailed,
			"gritvq: internal failure: axis 3 (--debug shows where)\n"},
	} {
		s, _, text := silent()
		if code := explain(s, withoutPanic(c.run), false); code != c.code || text.String() != c.text {
			t.Errorf("%s: exit code %d and %q, want %d and %q", name, code, text, c.code, c.text)
		}
	}
	s, _, text := silent()
	explain(s, withoutPanic(func() error { panic("here") }), true)
	if !strings.Contains(text.String(), "internal failure: here\n") || !strings.Contains(text.String(), "execute_test.go") {
		t.Errorf("--debug gave %q", text)
	}
}

func TestCommandLineIsQuotedAndRepeatable(t *testing.T) {
	got := commandLine([]string{"train", "my file.npy", "-o", "it's", "--resume", "--set", "a.b=[1,2]"})
	if want := `gritvq train 'my file.npy' -o 'it'\''s' --set 'a.b=[1,2]'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestArguments(t *testing.T) {
	root := &cobra.Command{Use: "gritvq"}
	cmd := &cobra.Command{Use: "show DIR"}
	root.AddCommand(cmd)
	for _, c := range []struct {
		check   cobra.PositionalArgs
		args    []string
		problem string
	}{
		{Arguments("DIR"), []string{"a"}, ""},
		{Arguments("DIR"), nil, "show needs DIR: gritvq show DIR"},
		{Arguments("DIR"), []string{"a", "b"}, `show does not take "b": gritvq show DIR`},
		{AtLeast("DIR"), []string{"a", "b"}, ""},
		{AtLeast("DIR"), nil, "show needs DIR: gritvq show DIR"},
	} {
		got := ""
		if err := c.check(cmd, c.args); err != nil {
			got = err.Error()
		}
		if got != c.problem {
			t.Errorf("%v: %q, want %q", c.args, got, c.problem)
		}
	}
}
