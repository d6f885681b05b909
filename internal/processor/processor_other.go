//go:build !unix

package processor

// Time is the processor time of this process in seconds, 0 where the system does not tell.
func Time() float64 { return 0 }
