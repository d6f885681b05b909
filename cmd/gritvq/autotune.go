package main

import (
	"os"
	"path/filepath"
	"strings"
)

// xlaCacheFlag names the directory in which XLA keeps what it measured while
// choosing kernels: a minute of compiling the first time, seconds after.
const xlaCacheFlag = "--xla_gpu_per_fusion_autotune_cache_dir"

// keepAutotuning makes a CUDA plugin keep its measurements in the user's cache,
// unless XLA_FLAGS says something about it already. Without a place for them
// XLA measures every time.
func keepAutotuning(plugin string) {
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
	os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" "+xlaCacheFlag+"="+dir))
}
