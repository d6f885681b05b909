package catalogue

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
)

// writeReport writes the page of a catalogue: how codes came into use, which items
// share theirs, and what codes mean.
func (c *Catalogue) writeReport(dir string, from origin, command string) error {
	stats := c.Stats()
	length := report.Counted(c.levels, "code")
	if c.resolution == Token {
		length += " and a token"
	}
	page := report.New("Semantic IDs: "+filepath.Base(filepath.Clean(dir)), fmt.Sprintf("IDs of %s, by %s.", length, from.description))
	page.Facts(c.facts(stats))
	page.Section("Codes in use", "A level that uses all of its codes, evenly, tells most items apart.", c.usageParts(stats, from.training)...)
	page.Section("Collisions", c.collisionNote(stats), c.collisionParts(stats)...)
	if slices.ContainsFunc(c.Items.Items, func(item interactions.Item) bool { return item.Title != "" }) {
		note := from.meaning + " Typical words are more frequent below a code than in the whole catalogue."
		page.Section("What codes mean", note, c.meaningParts()...)
	}
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command}, report.Paragraph(c.versionsText()))
	page.Footer(fmt.Sprintf("gritvq %s. Tokenizer %.16s.", version.String(), c.tokenizer))
	return page.WriteFile(filepath.Join(dir, ReportFile))
}

func (c *Catalogue) facts(stats Stats) []report.Fact {
	used, codes := 0, 0
	for level, p := range stats.Positions[:c.levels] {
		codes += c.vocab[level]
		used += int(p.Utilization*float64(c.vocab[level]) + 0.5)
	}
	after := "IDs are unique"
	if stats.After.Rate > 0 {
		after = report.Percent(stats.After.Rate, 2) + " after moving codes"
	}
	inUse := fmt.Sprintf("%s of %s", report.Count(used), report.Count(codes))
	return []report.Fact{
		{Name: "items", Value: report.Count(c.Len()), Note: fmt.Sprintf("version %d of the table", c.Version())},
		{Name: "codes in use", Value: report.Percent(float64(used)/float64(codes), 1), Note: inUse},
		{Name: "collision rate", Value: report.Percent(stats.Before.Rate, 2), Note: "of the codes; " + after},
		{Name: "share their codes", Value: report.Percent(stats.Before.Sharing, 2), Note: "of the items"},
		{Name: "largest group", Value: report.Count(stats.Before.Largest), Note: "items with equal codes"},
	}
}

func (c *Catalogue) versionsText() string {
	var text []string
	for _, v := range c.versions {
		text = append(text, fmt.Sprintf("version %d added %s", v.Number, report.Counted(v.Added, "item")))
	}
	return "The table: " + strings.Join(text, ", ") + "."
}
