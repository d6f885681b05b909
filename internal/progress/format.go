package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/gritvq/gritvq/internal/textwidth"
)

const (
	longestBar  = 28
	shortestBar = 8
)

type state struct {
	done, total int64
	units       string  // empty: the count is not shown, as for bytes
	rate        float64 // steps a second now, 0 when unknown
	pace        float64 // steps a second to reckon with, 0 when unknown
	elapsed     time.Duration
	fields      string
	finished    bool
}

// format returns the line in at most columns columns. The bar gives way first, then the end of the line.
func (s state) format(columns int) string {
	var parts []string
	switch {
	case s.units == "":
	case s.total > 0:
		parts = append(parts, fmt.Sprintf("%d/%d", s.done, s.total))
	default:
		parts = append(parts, fmt.Sprintf("%d %s", s.done, s.units))
	}
	if rate := formatRate(s.rate, s.units); rate != "" {
		parts = append(parts, rate)
	}
	parts = append(parts, clock(s.elapsed)+" elapsed")
	if left, ok := s.remaining(); ok {
		parts = append(parts, "ETA "+clock(left))
	}
	if s.fields != "" {
		parts = append(parts, s.fields)
	}
	text := strings.Join(parts, "  ")
	if s.total <= 0 {
		return textwidth.Cut(text, columns)
	}
	fraction := min(1, max(0, float64(s.done)/float64(s.total)))
	percent := fmt.Sprintf("%3d%% ", int(100*fraction))
	room := columns - len(percent) - textwidth.Of(text) - 1
	return textwidth.Cut(percent+bar(fraction, min(room, longestBar+2))+text, columns)
}

// bar returns "[===>  ] " in width columns, or nothing when that is too narrow to read.
func bar(fraction float64, width int) string {
	cells := width - 2
	if cells < shortestBar {
		return ""
	}
	full := int(fraction * float64(cells))
	head := ""
	if full > 0 && full < cells {
		head = ">"
		full--
	}
	return "[" + strings.Repeat("=", full) + head + strings.Repeat(" ", cells-full-len(head)) + "] "
}

func (s state) remaining() (time.Duration, bool) {
	if s.finished || s.total <= 0 || s.pace <= 0 {
		return 0, false
	}
	seconds := float64(max(0, s.total-s.done)) / s.pace
	if seconds > 1000*24*3600 { // beyond any plan, and towards overflow
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

func formatRate(rate float64, units string) string {
	switch {
	case rate <= 0 || units == "":
		return ""
	case rate >= 100:
		return fmt.Sprintf("%.0f %s/s", rate, units)
	case rate >= 1:
		return fmt.Sprintf("%.1f %s/s", rate, units)
	case units != steps:
		return fmt.Sprintf("%.2g %s/s", rate, units)
	}
	return fmt.Sprintf("%.1f s/step", 1/rate)
}

// clock formats d as 0:42, 12:05, 3:07:09 or 2d 03:07:09.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	days, hours, minutes, seconds := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %02d:%02d:%02d", days, hours, minutes, seconds)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}
