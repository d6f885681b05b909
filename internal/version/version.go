// Package version names this build of gritvq.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version under development; a tagged module has its own.
const release = "v0.1.0-dev"

// Platform is the operating system and architecture of this build.
const Platform = runtime.GOOS + "/" + runtime.GOARCH

// String returns the module's version, or the release with the commit that it
// was built from.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return release + "+" + setting.Value[:12]
		}
	}
	return release
}

// CreatedBy is the program and its version, as manifests record it.
func CreatedBy() string { return "gritvq " + String() }

// Line is the version with Go's and the platform.
func Line() string {
	return fmt.Sprintf("%s (%s, %s)", CreatedBy(), runtime.Version(), Platform)
}
