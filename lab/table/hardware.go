package table

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// CPU names the processor.
func CPU() string { return cmp.Or(SystemField("/proc/cpuinfo", "model name"), runtime.GOARCH) }

// Hardware names the processor and the number of its cores.
func Hardware() string { return fmt.Sprintf("%s, %d cores", CPU(), runtime.NumCPU()) }

// SystemField returns a field of a file of /proc, such as "model name", or "".
func SystemField(path, name string) string {
	content, _ := os.ReadFile(path)
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(strings.TrimLeft(value, "\t :"))
		}
	}
	return ""
}
