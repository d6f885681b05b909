package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/internal/usage"
)

// How to get XLA and its plugins.
const (
	BuildXLA  = "GOEXPERIMENT=simd go build -tags xla ./cmd/gritvq"
	GetPlugin = "install JAX for your GPU (pip install \"jax[cuda12]\") and pass --backend xla:/path/to/xla_cuda_plugin.so, " +
		"or name a directory of pjrt_c_api_*_plugin.so files in PJRT_PLUGIN_LIBRARY_PATH"
)

// Choose starts the engine that a --backend value names: "go", or
// "xla[:PLUGIN[,OPTIONS]]" where PLUGIN is a name or a path.
func Choose(value string) (compute.Backend, error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case Embedded:
		if rest != "" {
			return nil, usage.Errorf("--backend go takes no options; --workers bounds its threads")
		}
	case "xla":
		var err error
		if value, err = xlaConfig(rest); err != nil {
			return nil, err
		}
		cacheAutotuning(value)
	default:
		return nil, usage.Errorf("unknown backend %q: use go or xla[:plugin]", value)
	}
	backend, err := Open(value)
	if err != nil {
		return nil, fmt.Errorf("starting the engine %s: %w; gritvq doctor says what is missing", value, err)
	}
	return backend, nil
}

// xlaConfig turns "PLUGIN,OPTIONS" into GoMLX's configuration. PLUGIN is a name,
// a path or empty.
func xlaConfig(rest string) (string, error) {
	if !XLA {
		return "", usage.Errorf("this gritvq was built without XLA; build it with: %s", BuildXLA)
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
	} else if len(Plugins()) == 0 {
		return "", fmt.Errorf("no PJRT plugin was found for XLA: %s", GetPlugin)
	}
	if options != "" {
		plugin += "," + options
	}
	return "xla:" + plugin, nil
}

// UseWorkers bounds the threads of the program; 0 allows all cores.
func UseWorkers(n int) error {
	if n < 0 {
		return usage.Errorf("--workers %d must be at least 1, or 0 for all cores", n)
	}
	if n > 0 {
		runtime.GOMAXPROCS(n)
	}
	return nil
}
