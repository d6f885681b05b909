package eval_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/eval"
)

func ExampleImageScores() {
	shape := eval.ImageShape{Height: 16, Width: 16, Channels: 3}
	x, xhat := make([]uint8, shape.Len()), make([]uint8, shape.Len())
	for i := range x {
		x[i], xhat[i] = uint8(i%200), uint8(i%200+2*(i%3))
	}
	var scores eval.ImageScores
	if err := scores.Add(x, xhat, shape); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("PSNR %.2f dB, SSIM %.4f\n", scores.PSNR(), scores.SSIM())
	// Output: PSNR 39.89 dB, SSIM 0.9996
}
