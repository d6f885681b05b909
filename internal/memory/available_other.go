//go:build !linux

package memory

func physical() int64     { return unlimited }
func addressSpace() int64 { return unlimited }
