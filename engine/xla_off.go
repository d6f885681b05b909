//go:build !xla

package engine

// XLA says whether this build has the XLA engine.
const XLA = false

// Plugins lists the PJRT plugins on this machine; without XLA none can be used.
func Plugins() []string { return nil }
