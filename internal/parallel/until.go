package parallel

import "context"

// Until returns the result of work, or the error of ctx if that ends first. Then work goes on to its end in the
// background, so it must change nothing that others see: it is for calls into libraries that cannot be interrupted. A
// panic of work is the caller's.
func Until[T any](ctx context.Context, work func() (T, error)) (result T, err error) {
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.value, o.err = work()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.value, o.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}
