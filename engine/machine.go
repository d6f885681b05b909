package engine

import "runtime"

// Machine names what the last bits of the embedded engine's results depend on: the engine, the architecture and the vector
// instructions that it uses.
func Machine() string { return Embedded + " " + runtime.GOARCH + " " + vectorLevel() }
