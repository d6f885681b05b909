package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// BackendFlag adds --backend.
func BackendFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "backend", "go",
		"engine: go (built in), or xla[:PLUGIN[,OPTIONS]] where PLUGIN is a\nname (cuda, cpu) or the path of a PJRT plugin")
}

// WorkersFlag adds --workers, which bounds the threads of the program.
func WorkersFlag(cmd *cobra.Command, into *int) {
	cmd.Flags().IntVar(into, "workers", 0, "threads to use (default all cores)")
	before(cmd, func() error { return engine.UseWorkers(*into) })
}

// before runs a check after the command line is parsed and before the command.
func before(cmd *cobra.Command, check func() error) {
	others := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if others != nil {
			if err := others(cmd, args); err != nil {
				return err
			}
		}
		return check()
	}
}

// JSONFlag adds --json; of, such as "the scores as", goes into the help text and may be empty.
func JSONFlag(cmd *cobra.Command, into *bool, of string) {
	cmd.Flags().BoolVar(into, "json", false, strings.TrimSuffix("print "+of, " ")+" one JSON object")
}

// OutputFlag adds the required -o; the error about a missing one shows an example.
func OutputFlag(cmd *cobra.Command, into *string, text, example string) {
	cmd.Flags().StringVarP(into, "output", "o", "", text)
	before(cmd, func() error {
		if *into == "" {
			return usage.Errorf("no output was named: add -o %s", example)
		}
		return nil
	})
}

// Arguments requires exactly the named arguments.
func Arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage.Errorf("%s needs %s: %s", cmd.Name(), strings.Join(names[len(args):], " and "), synopsis(cmd))
		case len(args) > len(names):
			return usage.Errorf("%s does not take %q: %s", cmd.Name(), args[len(names)], synopsis(cmd))
		}
		return nil
	}
}

// AtLeast requires the named arguments; the last may be given several times.
func AtLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return Arguments(names...)(cmd, args[:min(len(args), len(names))])
	}
}

func synopsis(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}

// Help is the action of a command that has only subcommands; it suggests the nearest one.
func Help(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := config.Nearest(args[0], names); near != "" {
		return usage.Errorf("unknown command %q: did you mean %q?", args[0], near)
	}
	return usage.Errorf("unknown command %q: the commands are %s", args[0], strings.Join(names, ", "))
}

// wanted describes the values of a flag by its type.
var wanted = map[string]string{
	"int": "a whole number", "uint64": "a whole number that is not negative", "float64": "a number", "bool": "true or false",
}

// FlagError turns an error of the parser into a usage error with a suggestion.
func FlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && len(missing.GetSpecifiedName()) > 1 {
		name := missing.GetSpecifiedName()
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(name, names); near != "" {
			return usage.Errorf("unknown flag --%s: did you mean --%s?", name, near)
		}
		return usage.Errorf("unknown flag --%s: %s --help lists the flags", name, cmd.CommandPath())
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if kind := wanted[invalid.GetFlag().Value.Type()]; kind != "" {
			return usage.Errorf("--%s %s: expected %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	return usage.Error{Err: err}
}

// CodingFlags adds the flags of commands that encode with a tokenizer.
func CodingFlags(cmd *cobra.Command, o *tokenize.CodingOptions) {
	LevelsFlag(cmd, o)
	f := cmd.Flags()
	f.IntVar(&o.Beam, "beam", 0,
		"encodings kept from level to level; more are slower and closer\n"+
			"(default the tokenizer's own quantizer.beam; 1 takes the nearest code of each level)")
	f.BoolVar(&o.Drop, "drop-nonfinite", false, "leave out rows with NaN or Inf; later rows move up")
}

// LevelsFlag adds the flags of commands that read with a tokenizer.
func LevelsFlag(cmd *cobra.Command, o *tokenize.CodingOptions) {
	cmd.Flags().IntVar(&o.Levels, "levels", 0, "use only the first levels (default all)")
	WorkersFlag(cmd, &o.Workers)
	BackendFlag(cmd, &o.Backend)
}

// WriteResult prints a result as text or JSON, unless there is an error instead.
func (s *Streams) WriteResult(r tokenize.Result, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	if asJSON {
		return s.WriteJSON(r)
	}
	_, err = fmt.Fprintln(s.Out, r)
	return err
}
