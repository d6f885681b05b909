package tokenizer

import "strings"

// Reference is a classical method with the same bits, measured in the same run on the same held-out items.
type Reference struct {
	Name    string  `json:"name"`    // such as "residual k-means" or "k-means of 4 x 4 patches"
	Score   float64 `json:"score"`   // relative error of vectors, PSNR of pictures in dB
	Seconds float64 `json:"seconds"` // to fit and to score it
}

// Choice is how validation items, a part of the training items, chose settings. Errors are relative.
type Choice struct {
	Rows     int      `json:"rows"`     // validation items
	Start    float64  `json:"start"`    // error of the start, before any training; the least if there are several
	Starts   []Trial  `json:"starts"`   // classical starts, in the order they were fitted; empty if there was one
	Trials   []Trial  `json:"trials"`   // in the order they were run
	Settings []string `json:"settings"` // chosen assignments, such as "train.noise=0.3"
	Error    float64  `json:"error"`    // with them
	Kept     bool     `json:"kept"`     // training did not improve on the start, which was kept
}

// BestStart returns the first of the starts with the least error, and its number; the zero value without starts.
func (c Choice) BestStart() (best Trial, number int) {
	for i, s := range c.Starts {
		if i == 0 || s.Error < best.Error {
			best, number = s, i
		}
	}
	return best, number
}

// Trial is a training run without the validation items.
type Trial struct {
	Settings []string `json:"settings"` // its assignments
	Steps    int      `json:"steps"`
	Error    float64  `json:"error"`
	Seconds  float64  `json:"seconds"`
}

// SettingsText names assignments for people.
func SettingsText(assignments []string) string {
	if len(assignments) == 0 {
		return "as configured"
	}
	return strings.Join(assignments, ", ")
}
