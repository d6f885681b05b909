//go:build !xla

package main

const xlaBuiltIn = false

// xlaPlugins lists the PJRT plugins found on this machine: without the engine,
// none can be used.
func xlaPlugins() []string { return nil }
