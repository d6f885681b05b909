package interactions

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeLayouts are the dates that are understood beside numbers.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999-07:00", "2006-01-02", "01 2, 2006"}

// parseTime returns a number as it is, and a date as seconds since 1970.
func parseTime(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return 0, fmt.Errorf("the time %q, which is not finite", text)
		}
		return number, nil
	}
	for _, layout := range timeLayouts {
		if when, err := time.Parse(layout, text); err == nil {
			return seconds(when), nil
		}
	}
	return 0, fmt.Errorf("the time %q, which is neither a number nor a date such as 2024-01-31 23:59:59; correct it or %w, by name if "+
		"there is a header", text, ErrColumns)
}

func seconds(when time.Time) float64 {
	return float64(when.Unix()) + float64(when.Nanosecond())*1e-9
}
