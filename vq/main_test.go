package vq

import (
	"os"
	"testing"

	"github.com/gritvq/gritvq/internal/heapguard"
)

func TestMain(m *testing.M) {
	heapguard.Ensure()
	os.Exit(m.Run())
}
