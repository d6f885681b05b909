//go:build linux || darwin

package rowfile

import (
	"math"

	"golang.org/x/sys/unix"
)

// freeSpace is the number of bytes that can still be written to the file system of dir; not known is no limit.
func freeSpace(dir string) uint64 {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return math.MaxUint64
	}
	return fs.Bavail * uint64(fs.Bsize)
}
