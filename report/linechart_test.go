package report

import (
	"strings"
	"testing"
)

func TestPercentStaysBelowAHundred(t *testing.T) {
	top := func(percent bool) string {
		var b strings.Builder
		c := LineChart{Title: "use", XLabel: "step", YLabel: "%", Percent: percent,
			Series: []Series{{Name: "codes", Y: []float64{100, 100, 100}}}}
		if err := WriteSVG(&b, c); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if svg := top(true); strings.Contains(svg, ">120<") || strings.Contains(svg, ">150<") || !strings.Contains(svg, ">100<") {
		t.Error("a share of a hundred is drawn on an axis beyond it")
	}
	if svg := top(false); !strings.Contains(svg, ">120<") && !strings.Contains(svg, ">150<") && !strings.Contains(svg, ">140<") {
		t.Error("without Percent a constant opens around its value")
	}
}
