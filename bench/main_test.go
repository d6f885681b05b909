package main

import (
	"errors"
	"flag"
	"slices"
	"testing"
)

func TestFlagsBetweenArguments(t *testing.T) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	users, out := flags.String("users", "", ""), flags.String("out", "", "")
	if got := arguments(flags, []string{"-users", "a", "b", "c", "-out", "results", "d"}); !slices.Equal(got, []string{"b", "c", "d"}) ||
		*users != "a" || *out != "results" {
		t.Errorf("arguments %v, -users %s, -out %s", got, *users, *out)
	}
}

// A job that ends with a sentence gives it, one that is ended from outside does not give its last remark.
func TestReasonOfAFailedJob(t *testing.T) {
	killed := errors.New("signal: killed")
	for problems, want := range map[string]string{
		"": "signal: killed", "training on 8 rows\n": "signal: killed", "training\nbench: tokenizer: no memory\n": "tokenizer: no memory",
		"training\npanic: boom\n\ngoroutine 1\nexit status 2\n": "signal: killed: panic: boom",
	} {
		if got := reason(killed, problems); got.Error() != want {
			t.Errorf("%q: %v, want %s", problems, got, want)
		}
	}
}
