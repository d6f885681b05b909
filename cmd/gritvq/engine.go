package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // the embedded engine
	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/spf13/cobra"
)

// engineFlag adds --backend.
func engineFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "backend", "go", "engine: go (built in), or xla[:PLUGIN[,OPTIONS]] where PLUGIN is a\nname (cuda, cpu) or the path of a PJRT plugin")
}

// openEngine starts the engine a --backend value names.
func openEngine(value string) (compute.Backend, error) {
	kind, rest, _ := strings.Cut(value, ":")
	switch kind {
	case "go":
		if rest != "" {
			return nil, usagef("--backend go takes no options; --workers bounds its threads")
		}
	case "xla":
		if !xlaBuiltIn {
			return nil, usagef("this gritvq was built without XLA; build it with: GOEXPERIMENT=simd go build -tags xla ./cmd/gritvq")
		}
		plugin, options, _ := strings.Cut(rest, ",")
		if strings.ContainsRune(plugin, filepath.Separator) {
			absolute, err := filepath.Abs(plugin)
			if err != nil {
				return nil, usagef("--backend %s: %w", value, err)
			}
			value = "xla:" + absolute
			if options != "" {
				value += "," + options
			}
		}
	default:
		return nil, usagef("unknown backend %q: use go or xla[:plugin]", value)
	}
	heapguard.Ensure()
	backend, err := compute.NewWithConfig(value)
	if err != nil {
		return nil, fmt.Errorf("starting the engine %s: %w; gritvq doctor says what is missing", value, err)
	}
	return backend, nil
}
