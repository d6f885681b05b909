package tokenize

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/tokenizer"
)

// Describe says in a line what a Spec builds for items of input
// numbers.
func Describe(c tokenizer.Spec, input int) string {
	q := c.Quantizer
	text := fmt.Sprintf("%s, %d levels x %d codes", q.Method, q.Levels, q.Codes)
	if q.Levels == 1 {
		text = fmt.Sprintf("%s, %d codes", q.Method, q.Codes)
	}
	if q.Parts > 1 {
		text += fmt.Sprintf(" x %d parts", q.Parts)
	}
	dim := c.Model.Dim
	if dim == 0 {
		dim = input
	}
	if image := c.Model.Image; c.Model.Pictures() {
		return text + fmt.Sprintf(", %d px pictures to %d x %d codes, network %s to %d",
			image.Size, image.Grid(), image.Grid(), join(image.Widths), dim)
	}
	if len(c.Model.Hidden) == 0 && dim == input {
		return text + fmt.Sprintf(" on the %d-d vectors themselves", input)
	}
	widths := append([]int{input}, c.Model.Hidden...)
	return text + ", network " + join(append(widths, dim))
}

// join writes widths as 64-128-256.
func join(widths []int) string {
	text := make([]string, len(widths))
	for i, w := range widths {
		text[i] = strconv.Itoa(w)
	}
	return strings.Join(text, "-")
}

// ItemName is the singular of what a tokenizer codes: "row" or "picture".
func ItemName(c tokenizer.Spec) string {
	if c.Model.Pictures() {
		return "picture"
	}
	return "row"
}
