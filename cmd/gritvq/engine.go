package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gomlx/compute"
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/engine"
)

// engineFlag adds --backend.
func engineFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "backend", "go", "engine: go (built in), or xla[:PLUGIN[,OPTIONS]] where PLUGIN is a\nname (cuda, cpu) or the path of a PJRT plugin")
}

// useWorkers bounds the threads of the program; 0 leaves it all cores.
func useWorkers(n int) error {
	if n < 0 {
		return usage.Errorf("--workers %d must be at least 1, or 0 for all cores", n)
	}
	if n > 0 {
		runtime.GOMAXPROCS(n)
	}
	return nil
}

// openEngine starts the engine a --backend value names.
func openEngine(value string) (compute.Backend, error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case "go":
		if rest != "" {
			return nil, usage.Errorf("--backend go takes no options; --workers bounds its threads")
		}
	case "xla":
		var err error
		if value, err = xlaConfig(rest); err != nil {
			return nil, err
		}
		keepAutotuning(value)
	default:
		return nil, usage.Errorf("unknown backend %q: use go or xla[:plugin]", value)
	}
	backend, err := engine.Open(value)
	if err != nil {
		return nil, fmt.Errorf("starting the engine %s: %w; gritvq doctor says what is missing", value, err)
	}
	return backend, nil
}

// How to get what XLA needs.
const (
	buildXLA  = "GOEXPERIMENT=simd go build -tags xla ./cmd/gritvq"
	getPlugin = "install JAX for your GPU (pip install \"jax[cuda12]\") and pass --backend xla:/path/to/xla_cuda_plugin.so, or name a directory of pjrt_c_api_*_plugin.so files in PJRT_PLUGIN_LIBRARY_PATH"
)

// xlaConfig turns "PLUGIN,OPTIONS", PLUGIN being a name, a path or nothing, into
// the engine's configuration.
func xlaConfig(rest string) (string, error) {
	if !xlaBuiltIn {
		return "", usage.Errorf("this gritvq was built without XLA; build it with: %s", buildXLA)
	}
	plugin, options, _ := strings.Cut(rest, ",")
	if strings.ContainsRune(plugin, filepath.Separator) {
		absolute, err := filepath.Abs(plugin)
		if err == nil {
			_, err = os.Stat(absolute)
		}
		if err != nil {
			return "", fmt.Errorf("cannot use the PJRT plugin: %w", err)
		}
		plugin = absolute
	} else if len(xlaPlugins()) == 0 {
		return "", fmt.Errorf("no PJRT plugin was found for XLA: %s", getPlugin)
	}
	if options != "" {
		plugin += "," + options
	}
	return "xla:" + plugin, nil
}
