//go:build xla

package gradtest

import _ "github.com/gomlx/go-xla/compute/xla" // so that GRITVQ_TEST_BACKEND may name it
