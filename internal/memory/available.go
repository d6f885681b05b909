package memory

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// unlimited is what a system has that tells nothing.
const unlimited = math.MaxInt64

// Available is the number of bytes that the process can still take: the least of what the system has, swap included, what
// the limits of its control groups leave, what its limit on address space leaves (ulimit -v), and what GOMEMLIMIT leaves.
// Memory that the runtime holds and does not use counts as available. It is [math.MaxInt64] on systems that do not tell.
func Available() int64 {
	held := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(held)
	free, released := clamp(held[0].Value.Uint64()), clamp(held[1].Value.Uint64())
	return min(add(physical(), free), add(addressSpace(), free+released), environment())
}

// environment is what the user's limit on the runtime leaves.
func environment() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		return unlimited
	}
	limit := debug.SetMemoryLimit(-1)
	if limit == unlimited {
		return unlimited
	}
	return max(0, limit-inUse())
}

// leastAddressSpace is what threads, stacks and the heap of any command take. A thread of C reserves 72 MiB.
const leastAddressSpace = 512 << 20

// CheckStart fails if the limit on address space is too low for any work. The runtime and the threads of C end a program that
// meets it without a sentence.
func CheckStart() error {
	if left := addressSpace(); left < leastAddressSpace {
		return fmt.Errorf("the limit on address space leaves %s and any work takes %s; raise it with ulimit -v",
			Text(float64(left)), Text(leastAddressSpace))
	}
	return nil
}

// add adds what may be unlimited.
func add(a, b int64) int64 {
	if a > unlimited-b {
		return unlimited
	}
	return a + b
}

func clamp(n uint64) int64 { return int64(min(n, unlimited)) }
