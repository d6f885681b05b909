package table

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/gritvq/gritvq/internal/version"
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

// Commit is the commit of the build, or of the checked out files where the build names none, as with go run. A mark tells that
// files differed.
func Commit(ctx context.Context) string {
	if built := version.Commit(); built != version.Unknown {
		return built
	}
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return version.Unknown
	}
	name := strings.TrimSpace(string(head))
	if exec.CommandContext(ctx, "git", "diff", "--quiet", "HEAD", "--", "*.go").Run() != nil {
		name += "+changes"
	}
	return name
}
