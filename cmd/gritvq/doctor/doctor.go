// Package doctor is the command gritvq doctor.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/spf13/cobra"
	"golang.org/x/sys/cpu"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var json, rebuild bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check engines, CPU and memory, and say what is missing",
		Long: `Shows the version, the CPU's vector instructions and whether this build uses them,
cores and memory, and the available engines, and explains how to add missing ones.
--rebuild installs this version with the CPU's vector instructions, in the place of this
program. It fails only if the built-in engine does not work.`,
		Example: `  gritvq doctor
  gritvq doctor --json
  gritvq doctor --rebuild`,
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rebuild {
				return install(cmd.Context(), s)
			}
			return run(s, json)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "build this version with vector kernels, through the go command")
	cli.JSONFlag(cmd, &json, "")
	return cmd
}

func install(ctx context.Context, s *cli.Streams) error {
	if engine.SIMD {
		s.Remark("this build has vector kernels already")
		return nil
	}
	program, err := version.Rebuild(ctx, s.Err)
	if err == nil {
		fmt.Fprintln(s.Out, "built "+program)
	}
	return err
}

// diagnosis is the output of doctor --json.
type diagnosis struct {
	Version     string   `json:"version"`
	Go          string   `json:"go"`
	Platform    string   `json:"platform"`
	SIMD        bool     `json:"simd"`   // built with vector kernels
	Search      string   `json:"search"` // kernel of nearest-code search
	CPU         []string `json:"cpu_features"`
	Cores       int      `json:"cores"`
	MemoryBytes int64    `json:"memory_bytes"` // 0 where unknown
	EngineGo    string   `json:"engine_go"`    // "ok" or the failure
	EngineXLA   bool     `json:"engine_xla"`   // compiled in
	Plugins     []string `json:"xla_plugins"`
	Advice      []string `json:"advice"`
}

func run(s *cli.Streams, json bool) error {
	d := diagnose()
	if !json {
		d.print(s)
	} else if err := s.WriteJSON(d); err != nil {
		return err
	}
	if d.EngineGo != "ok" {
		return fmt.Errorf("the built-in engine does not work: %s", d.EngineGo)
	}
	return nil
}

func diagnose() diagnosis {
	d := diagnosis{
		Version: version.String(), Go: runtime.Version(), Platform: version.Platform, SIMD: engine.SIMD, Search: index.Level(),
		CPU: cpuFeatures(), Cores: runtime.NumCPU(), MemoryBytes: totalMemory(),
		EngineGo: tryEngine(engine.Embedded), EngineXLA: engine.XLA, Plugins: append([]string{}, engine.Plugins()...), Advice: []string{},
	}
	if !d.SIMD && runtime.GOARCH == "amd64" {
		d.Advice = append(d.Advice, "build with vector kernels, which is much faster: gritvq doctor --rebuild")
	}
	switch {
	case !d.EngineXLA:
		d.Advice = append(d.Advice, "for GPUs, build the XLA engine in (needs a C compiler): "+engine.BuildXLA)
	case len(d.Plugins) == 0:
		d.Advice = append(d.Advice, "XLA needs a PJRT plugin: "+engine.GetPlugin)
	}
	return d
}

// tryEngine adds two numbers on an engine and reports "ok" or the failure.
func tryEngine(value string) string {
	backend, err := engine.Choose(value)
	if err != nil {
		return err.Error()
	}
	sum, err := graph.CallOnce(backend, func(a, b *graph.Node) *graph.Node { return graph.Add(a, b) }, float32(1), float32(2))
	if err != nil {
		return err.Error()
	}
	if got, ok := sum.Value().(float32); !ok || got != 3 {
		return fmt.Sprintf("1 + 2 gave %v", sum.Value())
	}
	return "ok"
}

// cpuFeatures lists the vector extensions that matter here.
func cpuFeatures() []string {
	found := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512f", cpu.X86.HasAVX512F}, {"avx512vnni", cpu.X86.HasAVX512VNNI},
		{"asimd", cpu.ARM64.HasASIMD}, {"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			found = append(found, f.name)
		}
	}
	return found
}

// totalMemory reads the machine's memory from Linux's /proc; 0 elsewhere.
func totalMemory() int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kilobytes int64
	for line := range strings.Lines(string(content)) {
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}

func (d diagnosis) print(s *cli.Streams) {
	build := "no"
	if d.SIMD {
		build = "yes"
	} else if runtime.GOARCH != "amd64" {
		build = "not for this CPU"
	}
	memory := "unknown"
	if d.MemoryBytes > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(d.MemoryBytes)/(1<<30))
	}
	features := cmp.Or(strings.Join(d.CPU, ", "), "no vector extensions known")
	xla := "not built in"
	if d.EngineXLA {
		xla = "built in, no plugin found"
		if len(d.Plugins) > 0 {
			xla = "plugins: " + strings.Join(d.Plugins, ", ")
		}
	}
	for _, line := range [][2]string{
		{"version", d.Version}, {"go", d.Go + ", " + d.Platform}, {"simd build", build}, {"search", d.Search}, {"cpu", features},
		{"cores", report.Count(d.Cores)}, {"memory", memory}, {"engine go", d.EngineGo}, {"engine xla", xla},
	} {
		fmt.Fprintf(s.Out, "%-11s %s\n", line[0], line[1])
	}
	for _, advice := range d.Advice {
		fmt.Fprintf(s.Out, "\n* %s\n", advice)
	}
}
