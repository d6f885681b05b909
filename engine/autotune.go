package engine

import (
	"os"
	"path/filepath"
	"strings"
)

// cacheFlag names the directory where XLA stores its kernel timings. With them,
// compiling takes seconds instead of a minute.
const cacheFlag = "--xla_gpu_per_fusion_autotune_cache_dir"

// cacheAutotuning makes a CUDA plugin store its kernel timings in the user's
// cache, unless XLA_FLAGS sets autotuning itself. Without a cache directory XLA
// measures in every run.
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
