// Package engine starts the engine that graph code runs on.
package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/internal/usage"
)

// Embedded is the configuration of the engine that every build has.
const Embedded = "go"

// Open starts the engine of a GoMLX configuration; Embedded alone is tuned to [runtime.GOMAXPROCS].
//
// The embedded engine starts up to eight executors a graph. Even idle ones count towards its limit on threads, twice the
// number of processors, so on few cores hardly any are left for a matrix product. With one executor a processor half of
// the threads are left, and training on two cores takes 0.53 to 0.67 of the time (results/engine.md).
func Open(config string) (compute.Backend, error) {
	if config == Embedded {
		config += ":num_executors=" + strconv.Itoa(runtime.GOMAXPROCS(0))
	}
	if name, _, _ := strings.Cut(config, ":"); !slices.Contains(compute.List(), name) {
		return nil, fmt.Errorf("there is no engine %q in this program: use one of %s", name, strings.Join(compute.List(), ", "))
	}
	backend, err := compute.NewWithConfig(config)
	if err == nil {
		err = padding.Add(backend)
	}
	if err != nil {
		return nil, err
	}
	return backend, nil
}

// How to get XLA and its plugins.
const (
	BuildXLA  = "GOEXPERIMENT=simd go build -tags xla ./cmd/gritvq"
	GetPlugin = "install JAX for your GPU (pip install \"jax[cuda12]\") and pass --backend xla:/path/to/xla_cuda_plugin.so, " +
		"or name a directory of pjrt_c_api_*_plugin.so files in PJRT_PLUGIN_LIBRARY_PATH"
)

// Choose starts the engine of a --backend value: "go", or "xla[:PLUGIN[,OPTIONS]]", PLUGIN a name or a path. An engine that
// holds a device is started once and shared: each would keep the memory of the device that it has ever used.
func Choose(value string) (compute.Backend, error) {
	kind, rest, _ := strings.Cut(value, ":")
	open := Open
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
		open = devices.open
	default:
		return nil, usage.Errorf("unknown backend %q: use go or xla[:plugin]", value)
	}
	backend, err := open(value)
	if err != nil {
		return nil, fmt.Errorf("starting the engine %s: %w; gritvq doctor says what is missing", value, err)
	}
	return backend, nil
}

// devices are the engines that hold one.
var devices shared

// shared are engines by their configuration.
type shared struct {
	lock   sync.Mutex
	opened map[string]compute.Backend
}

// open is Open, and returns an engine that it has already started.
func (s *shared) open(config string) (compute.Backend, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if backend := s.opened[config]; backend != nil && !backend.IsFinalized() {
		return backend, nil
	}
	backend, err := Open(config)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]compute.Backend{}
	}
	s.opened[config] = backend
	return backend, nil
}

// xlaConfig turns "PLUGIN,OPTIONS" into GoMLX's configuration. PLUGIN is a name, a path or empty.
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
		runtime.GOMAXPROCS(min(n, runtime.NumCPU())) // which takes memory for every thread
	}
	return nil
}

// cacheFlag names the directory of kernel timings; with them XLA compiles in seconds instead of a minute.
const cacheFlag = "--xla_gpu_per_fusion_autotune_cache_dir"

// cacheAutotuning makes a CUDA plugin store its kernel timings in the user's cache, unless XLA_FLAGS sets autotuning.
func cacheAutotuning(plugin string) {
	flags := os.Getenv("XLA_FLAGS")
	if !strings.Contains(strings.ToLower(plugin), "cuda") || strings.Contains(flags, "autotune") {
		return
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	dir := filepath.Join(cache, "gritvq", "xla")
	if strings.ContainsAny(dir, " \t") || os.MkdirAll(dir, 0o755) != nil {
		return
	}
	os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" "+cacheFlag+"="+dir))
}
