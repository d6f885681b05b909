package memory

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func physical() int64 { return physicalIn(os.DirFS("/")) }

// physicalIn is what the files of a system say.
func physicalIn(root fs.FS) int64 {
	least := int64(unlimited)
	if kib := field(root, "proc/meminfo", "MemAvailable:"); kib < unlimited {
		least = kib << 10
		if swap := field(root, "proc/meminfo", "SwapFree:"); swap < unlimited {
			least += swap << 10
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) { // "4:memory:/path", or "0::/path" of version 2
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			least = min(least, groupRoom(root, "sys/fs/cgroup", parts[2], "memory.max", "memory.current", "inactive_file"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			least = min(least, groupRoom(root, "sys/fs/cgroup/memory", parts[2],
				"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"))
		}
	}
	return max(0, least)
}

// groupRoom is what a control group and those above it leave. Cached files count as free. In a container the group's path is
// that of the host, and its own limit is found at the root.
func groupRoom(root fs.FS, mount, group, limit, usage, cached string) int64 {
	least := int64(unlimited)
	for {
		dir := path.Join(mount, group)
		if most := number(root, path.Join(dir, limit)); most < unlimited {
			if used := number(root, path.Join(dir, usage)); used < unlimited {
				files := field(root, path.Join(dir, "memory.stat"), cached)
				if files == unlimited {
					files = 0
				}
				least = min(least, most-used+files)
			}
		}
		if group == "/" || group == "." || group == "" {
			return least
		}
		group = path.Dir(group)
	}
}

// number reads a file that holds one number; it is unlimited if there is none.
func number(root fs.FS, name string) int64 {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return unlimited
	}
	return parse(strings.TrimSpace(string(content)))
}

// field reads the number behind the name at the beginning of a line.
func field(root fs.FS, file, name string) int64 {
	content, err := fs.ReadFile(root, file)
	if err != nil {
		return unlimited
	}
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return parse(words[1])
		}
	}
	return unlimited
}

func parse(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return unlimited
	}
	return n
}

// addressSpace is what the limit on address space leaves.
func addressSpace() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur > unlimited {
		return unlimited
	}
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return unlimited
	}
	pages, _, _ := strings.Cut(string(content), " ")
	used := parse(pages)
	if used == unlimited {
		return unlimited
	}
	return max(0, int64(limit.Cur)-used*int64(os.Getpagesize()))
}
