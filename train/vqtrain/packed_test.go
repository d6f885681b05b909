package vqtrain

import (
	"context"
	"errors"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// A network whose variables travel together learns as one whose variables do
// not: eight steps, across the placing of codes and a reset.
func TestPackedNetworkLearnsTheSame(t *testing.T) {
	source := open(t, tinySet)
	configs := variants(t)
	parts := everything(t, "grit")
	parts.Train.Accumulate = 2
	configs["parts of a batch"] = parts
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			after := func(packs bool) (weights.Set, int) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				watch := Observer{Step: func(r Record) {
					if r.Step == 8 {
						cancel()
					}
				}}
				trainer, err := New(t.Context(), gradtest.Engine(t), c, source, Options{Dir: t.TempDir(), Data: "tiny", Pack: packs, Watch: watch})
				if err != nil {
					t.Fatal(err)
				}
				defer trainer.Close()
				if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
					t.Fatalf("stopped with %v", err)
				}
				return read(t, trainer), trainer.bank.Store().NumVariables()
			}
			want, many := after(false)
			got, few := after(true)
			if few >= many {
				t.Errorf("%d variables travel packed, %d unpacked", few, many)
			}
			if len(got) != len(want) {
				t.Fatalf("%d variables packed, %d unpacked", len(got), len(want))
			}
			for p, a := range want {
				if d := relative(got[p].Data, a.Data); d > 1e-4 {
					t.Errorf("%s differs by %g", p, d)
				}
			}
		})
	}
}
