// Package engine starts the engine that graph code runs on.
package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // the embedded engine

	"github.com/gritvq/gritvq/internal/heapguard"
)

// Embedded is the configuration of the engine that every build has.
const Embedded = "go"

// Open starts the engine of a GoMLX configuration; Embedded alone is tuned to
// the threads that the program may use now ([runtime.GOMAXPROCS]).
//
// The embedded engine gives every graph up to eight goroutines that take the
// operations whose inputs are ready, and counts them among the threads that one
// operation may spread over, idle or not: twice as many as there are processors.
// On two or four cores that leaves next to none for a matrix product. With as
// many as there are processors half of them are left, and training on two
// cores takes 0.53 to 0.67 of the time (results/engine.md).
func Open(config string) (compute.Backend, error) {
	heapguard.Ensure()
	if config == Embedded {
		config += ":num_executors=" + strconv.Itoa(runtime.GOMAXPROCS(0))
	}
	if name, _, _ := strings.Cut(config, ":"); !slices.Contains(compute.List(), name) {
		return nil, fmt.Errorf("there is no engine %q in this program: use one of %s", name, strings.Join(compute.List(), ", "))
	}
	return compute.NewWithConfig(config)
}
