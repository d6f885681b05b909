package tokenizer

import (
	"encoding/json"
	"math"
)

// plainScores is Scores without its methods.
type plainScores Scores

// scoresJSON is Scores with the fields that may not be finite replaced: JSON
// has neither NaN nor infinity.
type scoresJSON struct {
	MSE           *float64 `json:"mse"`
	RelativeError *float64 `json:"relative_error"`
	Cosine        *float64 `json:"cosine"`
	plainScores
}

// MarshalJSON writes errors that are not finite (of data that does not vary, or
// of none) as null.
func (s Scores) MarshalJSON() ([]byte, error) {
	finite := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return json.Marshal(scoresJSON{finite(s.MSE), finite(s.RelativeError), finite(s.Cosine), plainScores(s)})
}

// UnmarshalJSON reads what MarshalJSON wrote; null becomes NaN.
func (s *Scores) UnmarshalJSON(content []byte) error {
	var read scoresJSON
	if err := json.Unmarshal(content, &read); err != nil {
		return err
	}
	number := func(x *float64) float64 {
		if x == nil {
			return math.NaN()
		}
		return *x
	}
	*s = Scores(read.plainScores)
	s.MSE, s.RelativeError, s.Cosine = number(read.MSE), number(read.RelativeError), number(read.Cosine)
	return nil
}
