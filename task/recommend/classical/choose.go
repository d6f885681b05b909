package classical

import "context"

// Choose fits the alternatives of a method and returns the one of the highest score,
// the first of equal ones: usually a score on validation data.
func Choose(ctx context.Context, log Log, m Method, score func(s Scorer) (float64, error)) (Method, Fitted, error) {
	var method Method
	var fitted Fitted
	best := 0.0
	for _, alternative := range m.Alternatives() {
		counted, err := alternative.Fit(ctx, log)
		if err != nil {
			return nil, nil, err
		}
		for _, w := range alternative.Weightings() {
			own := counted.With(w)
			x, err := score(own)
			if err != nil {
				return nil, nil, err
			}
			if fitted == nil || x > best {
				method, fitted, best = alternative.With(w), own, x
			}
		}
	}
	return method, fitted, nil
}
