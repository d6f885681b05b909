package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version being worked towards; a tagged module says its own.
const release = "v0.1.0-dev"

// version names this build: the module's version, or the release with the
// commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return release + "+" + setting.Value[:12]
		}
	}
	return release
}

type versionOptions struct {
	json bool
}

func newVersionCommand(s *streams, run func(*streams, versionOptions) error) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of gritvq, of the Go that built it, and the platform.",
		Example: `  gritvq version
  gritvq version --json`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error { return run(s, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runVersion(s *streams, o versionOptions) error {
	if o.json {
		return s.writeJSON(struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
	}
	fmt.Fprintln(s.out, versionLine())
	return nil
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("gritvq %s (%s, %s/%s)", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
