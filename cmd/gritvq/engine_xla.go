//go:build xla

package main

import "github.com/gomlx/go-xla/compute/xla"

const xlaBuiltIn = true

// xlaPlugins lists the PJRT plugins found on this machine.
func xlaPlugins() []string { return xla.GetAvailablePlugins() }
