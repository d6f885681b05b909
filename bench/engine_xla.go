//go:build xla

package main

import _ "github.com/gomlx/go-xla/compute/xla" // so that -backend may name it
