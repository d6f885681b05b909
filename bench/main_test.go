package main

import (
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
