package memory

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

func files(content map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range content {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestTheLeastLimitHolds(t *testing.T) {
	const meminfo = "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, unlimited},
		"machine alone": {map[string]string{"proc/meminfo": meminfo}, 1000 << 10},
		"swap":          {map[string]string{"proc/meminfo": meminfo + "SwapFree: 24 kB\n"}, 1024 << 10},
		"version 2": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "100\n",
			"sys/fs/cgroup/a/memory.max": "5000\n", "sys/fs/cgroup/a/memory.current": "1200\n",
			"sys/fs/cgroup/a/memory.stat": "anon 100\ninactive_file 200\n",
		}, 4000},
		"version 2 in a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/outside\n",
			"sys/fs/cgroup/memory.max": "3000\n", "sys/fs/cgroup/memory.current": "1000\n",
		}, 2000},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu:/c\n4:memory:/m\n0::/\n",
			"sys/fs/cgroup/memory/m/memory.limit_in_bytes": "9000\n", "sys/fs/cgroup/memory/m/memory.usage_in_bytes": "2000\n",
			"sys/fs/cgroup/memory/m/memory.stat": "inactive_file 1\ntotal_inactive_file 5\n",
		}, 7005},
		"over its limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "20\n",
		}, 0},
	} {
		if got := physicalIn(files(c.files)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The limit of the shell leaves less than the machine has.
func TestAddressSpaceCounts(t *testing.T) {
	if os.Getenv("GRITVQ_TELL_MEMORY") != "" {
		os.Stdout.WriteString("available=" + strconv.FormatInt(Available(), 10) + "\n")
		return
	}
	const limit = 4 << 20 // KiB
	command := exec.Command("sh", "-c", "ulimit -v "+strconv.Itoa(limit)+` && exec "$0" -test.run '^TestAddressSpaceCounts$'`, os.Args[0])
	command.Env = append(os.Environ(), "GRITVQ_TELL_MEMORY=1")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	_, rest, _ := strings.Cut(string(output), "available=")
	text, _, _ := strings.Cut(rest, "\n")
	if got, err := strconv.ParseInt(text, 10, 64); err != nil || got <= 0 || got > limit<<10 {
		t.Errorf("%q bytes are available, want at most %d", text, limit<<10)
	}
}

func TestAvailableIsPlausible(t *testing.T) {
	if got := Available(); got < 1<<20 || got == unlimited {
		t.Errorf("%d bytes are available", got)
	}
}

// Without room for threads the runtime would end the program with a trace.
func TestCheckStart(t *testing.T) {
	if os.Getenv("GRITVQ_LOW_LIMIT") == "" {
		if err := CheckStart(); err != nil {
			t.Error(err)
		}
		command := exec.Command(os.Args[0], "-test.run", "^TestCheckStart$")
		command.Env = append(os.Environ(), "GRITVQ_LOW_LIMIT=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, _, _ := strings.Cut(string(statm), " ")
	limit := uint64(parse(pages))*uint64(os.Getpagesize()) + 100<<20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	if err := CheckStart(); err == nil || !strings.Contains(err.Error(), "any work takes 512.0 MiB; raise it with ulimit -v") {
		t.Errorf("got %v", err)
	}
}
