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
	if c := Commit(); c != Unknown {
		return release + "+" + c
	}
	return release
}

// Unknown is the commit of a build without one, such as that of go run.
const Unknown = "unknown"

// Commit is the commit of this build, 12 digits, with a mark if files differed from it.
func Commit() string {
	commit, changed := Unknown, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
				commit = setting.Value[:12]
			case setting.Key == "vcs.modified" && setting.Value == "true":
				changed = "+changes"
			}
		}
	}
	return commit + changed
}

// CreatedBy is the program and its version, as manifests record it.
func CreatedBy() string { return "gritvq " + String() }

// Line is the version with Go's and the platform.
func Line() string {
	return fmt.Sprintf("%s (%s, %s)", CreatedBy(), runtime.Version(), Platform)
}
