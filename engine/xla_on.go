//go:build xla

package engine

import "github.com/gomlx/go-xla/compute/xla"

// XLA says whether this build has the XLA engine.
const XLA = true

// Plugins lists the PJRT plugins on this machine.
func Plugins() []string { return xla.GetAvailablePlugins() }
