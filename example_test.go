package gritvq_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq"
)

// Train a tokenizer, encode and decode with it, and score it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "gritvq")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, err := gritvq.Open(ctx, "synthetic:mixture?rows=2000")
	if err != nil {
		log.Fatal(err)
	}
	defer data.Close()
	tok, err := gritvq.Train(ctx, data, filepath.Join(dir, "tok"), gritvq.Codes(64), gritvq.Levels(2), gritvq.Steps(200),
		gritvq.Set("model.hidden=64", "model.dim=16"))
	if err != nil {
		log.Fatal(err)
	}
	defer tok.Close()
	codes, err := tok.Encode(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	items, err := tok.Decode(ctx, codes)
	if err != nil {
		log.Fatal(err)
	}
	scores, err := tok.Evaluate(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(codes)/tok.Codes(), "items of", tok.Codes(), "codes,", items.N, "decoded")
	fmt.Println("error below 0.6:", scores.RelativeError < 0.6)
	// Output:
	// 2000 items of 2 codes, 2000 decoded
	// error below 0.6: true
}

// Follow a run, store its result elsewhere, and load it again.
func ExampleTrain_progress() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "gritvq")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	values := make([]float32, 600*4)
	for i := range values {
		values[i] = float32((i / 4 * (i%4 + 1)) % 17)
	}
	data, err := gritvq.Vectors(values, 4)
	if err != nil {
		log.Fatal(err)
	}
	steps := int64(0)
	tok, err := gritvq.Train(ctx, data, filepath.Join(dir, "tok"), gritvq.Method("ema"), gritvq.Codes(16), gritvq.Levels(1), gritvq.Steps(50),
		gritvq.NoNetwork(), gritvq.Set("train.batch=64", "train.choose=[]"), // exactly these settings
		gritvq.OnProgress(func(p gritvq.Progress) {
			if p.Unit == "steps" {
				steps = p.Done
			}
		}))
	if err != nil {
		log.Fatal(err)
	}
	if err := tok.Save(filepath.Join(dir, "copy")); err != nil {
		log.Fatal(err)
	}
	tok.Close()
	again, err := gritvq.Load(filepath.Join(dir, "copy"))
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	fmt.Println(steps, "steps; held-out rows:", again.Held().Scored)
	// Output: 50 steps; held-out rows: 60
}
