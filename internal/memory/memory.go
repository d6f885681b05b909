// Package memory weighs the memory that a task needs against the memory of the machine, before anything is allocated.
//
// The runtime ends a program that runs out of memory with a trace that no code can catch, and the system kills it without a
// word. Sizes come from files and options, though, and may be anything. So whatever multiplies such sizes asks [Check]
// first, or [Need] where an error cannot be returned; [Catch] turns its panic into one.
package memory

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Exceeded says that something needs more memory than there is.
type Exceeded struct {
	What      string  // such as "a picture of 100000 x 100000 pixels"
	Bytes     float64 // that it needs
	Available int64
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("%s would take %s of memory and %s are available; use smaller sizes, or a machine or limit with more",
		e.What, Text(e.Bytes), Text(float64(e.Available)))
}

// unnoticed is a size that is not worth a look at the machine.
const unnoticed = 1 << 20

// Check fails if the product of the factors is more bytes than are available. A negative factor counts as too large.
func Check(what string, factors ...int) error {
	bytes, ok := product(factors)
	if ok && bytes < unnoticed {
		return nil
	}
	if available := Available(); !ok || bytes > uint64(available) {
		size := 1.0
		for _, f := range factors {
			size *= math.Abs(float64(f))
		}
		return &Exceeded{what, size, available}
	}
	announce(what, int64(bytes))
	return nil
}

// Need is [Check] for functions that return no error: it panics with one, which [Catch] turns back.
func Need(what string, factors ...int) {
	if err := Check(what, factors...); err != nil {
		panic(err)
	}
}

// Catch stores the error of a failed [Need] in err. It is deferred; other panics go on.
func Catch(err *error) {
	switch problem := recover().(type) {
	case nil:
	case *Exceeded:
		*err = problem
	case error:
		if e, ok := errors.AsType[*Exceeded](problem); ok {
			*err = e
			return
		}
		panic(problem)
	default:
		panic(problem)
	}
}

// product multiplies factors; ok is false if one is negative or the result does not fit.
func product(factors []int) (p uint64, ok bool) {
	p, ok = 1, true
	for _, f := range factors {
		if f == 0 {
			return 0, true
		}
		high, low := bits.Mul64(p, uint64(f))
		p, ok = low, ok && f > 0 && high == 0
	}
	return p, ok
}

// Text is a size for people, such as "51.2 GiB".
func Text(bytes float64) string {
	units := strings.Fields("B KiB MiB GiB TiB PiB EiB")
	i := 0
	for ; bytes >= 1024 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", bytes)
	}
	return fmt.Sprintf("%.1f %s", bytes, units[i])
}
