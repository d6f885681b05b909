package parallel

import (
	"context"
	"errors"
	"testing"
)

func TestUntil(t *testing.T) {
	if got, err := Until(t.Context(), func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := Until(t.Context(), func() (int, error) { return 0, errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun, never := make(chan bool), make(chan bool)
	defer close(never)
	go func() {
		<-begun
		cancel()
	}()
	if _, err := Until(ctx, func() (int, error) { close(begun); <-never; return 1, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	defer func() {
		if recover() != "broken" {
			t.Error("the panic was not the caller's")
		}
	}()
	_, _ = Until(t.Context(), func() (int, error) { panic("broken") })
}
