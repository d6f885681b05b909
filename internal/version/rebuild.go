package version

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// fromCheckout builds a development version with vector kernels.
const fromCheckout = "GOEXPERIMENT=simd go build ./cmd/gritvq"

// Rebuild installs this version with vector kernels in the place of the running program, through the go command. Output
// is that command's.
func Rebuild(ctx context.Context, output io.Writer) (program string, err error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", fmt.Errorf("this gritvq does not know its version; build it from a checkout: %s", fromCheckout)
	}
	program, err = os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the running program: %w", err)
	}
	arguments, err := installation(info, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	return install(ctx, arguments, program, output)
}

func install(ctx context.Context, arguments []string, program string, output io.Writer) (string, error) {
	line := "GOEXPERIMENT=simd go " + strings.Join(arguments, " ")
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("there is no go command in PATH; install Go from https://go.dev/dl and repeat, or run where it is: %s", line)
	}
	directory := filepath.Dir(program)
	cmd := exec.CommandContext(ctx, tool, arguments...)
	cmd.Env = append(os.Environ(), "GOEXPERIMENT=simd", "GOBIN="+directory)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s failed: %w; its output says why", line, err)
	}
	return filepath.Join(directory, "gritvq"), nil
}

// installation returns the arguments of the go command that installs a build's version again.
func installation(info *debug.BuildInfo, arch string) ([]string, error) {
	if arch != "amd64" {
		return nil, fmt.Errorf("there are no vector kernels for %s; this build is the right one", arch)
	}
	arguments := []string{"install"}
	v := info.Main.Version
	development := v == "" || v == "(devel)"
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision": // a checkout, whose commit may be nowhere else
			development = true
		case "-tags":
			arguments = append(arguments, "-tags", setting.Value)
		}
	}
	if development {
		return nil, fmt.Errorf("this gritvq is a development version (%s), which only its checkout can build; run there: %s",
			String(), fromCheckout)
	}
	return append(arguments, info.Path+"@"+v), nil
}
