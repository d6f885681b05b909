//go:build unix

package processor

import "syscall"

// Time is the processor time of this process in seconds, 0 where the system does not tell.
func Time() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
