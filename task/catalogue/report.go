package catalogue

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

const (
	shownGroups     = 12  // collisions
	collidingTitles = 5   // of a collision
	shownCodes      = 12  // most used codes
	shownItems      = 12  // of one prefix
	dictionary      = 512 // first codes in the list of all
)

func (c *Catalogue) writeReport(from origin, command string) error {
	stats := c.Stats()
	length := report.Counted(c.levels, "code")
	if c.resolution == Token {
		length += " and a token"
	}
	page := report.New("Semantic IDs: "+filepath.Base(filepath.Clean(c.dir)), fmt.Sprintf("IDs of %s, by %s.", length, from.description))
	page.Facts(c.facts(stats))
	page.Section("Codes in use", "A level that uses all of its codes, evenly, tells most items apart.", c.usageParts(stats, from.training)...)
	if c.taken != nil {
		page.Section("Items taken together", fmt.Sprintf("From the training part of %s: %s.", c.taken.Log, c.taken), c.taken.Table())
	}
	c.addCollisions(page, stats)
	if slices.ContainsFunc(c.Items.Items, func(item interactions.Item) bool { return item.Title != "" }) {
		parts, err := c.meaningParts()
		if err != nil {
			return err
		}
		page.Section("What codes mean", from.meaning+" Typical words are more frequent below a code than in the whole catalogue.", parts...)
	}
	var versions []string
	for _, v := range c.versions {
		versions = append(versions, fmt.Sprintf("version %d added %s", v.Number, report.Counted(v.Added, "item")))
	}
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command},
		report.Paragraph("The table: "+strings.Join(versions, ", ")+"."))
	page.Footer(fmt.Sprintf("%s. Tokenizer %.16s.", version.CreatedBy(), c.tokenizer))
	return page.WriteFile(filepath.Join(c.dir, ReportFile))
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

func (c *Catalogue) addCollisions(page *report.Page, stats Stats) {
	if stats.Before.Rate == 0 {
		page.Section("Collisions", "The tokenizer gave every item codes of its own.")
		return
	}
	note := "The token at the end of their IDs tells them apart."
	switch c.resolution {
	case Reassign:
		note = "The first keeps them, the others have the nearest last code that was free."
	case Sinkhorn:
		note = "They are spread over the last codes that were free, at the least total distance."
	}
	sizes := report.Table{Title: "Items with the same codes",
		Columns: report.Columns(report.Right, "items a group", "groups", "share of the items")}
	for _, g := range stats.Groups {
		share := float64(g.Size*g.Groups) / float64(stats.Items)
		sizes.Rows = append(sizes.Rows, report.Cells(report.Count(g.Size), report.Count(g.Groups), report.Percent(share, 2)))
	}
	largest := report.Table{Title: "The largest groups",
		Columns: append(report.Columns(report.Right, "codes", "items"), report.Column{Name: "titles"})}
	for _, rows := range c.groups(c.Codes) {
		if len(rows) < 2 || len(largest.Rows) == shownGroups {
			break
		}
		largest.Rows = append(largest.Rows,
			report.Cells(FormatCodes(c.Codes(rows[0])), report.Count(len(rows)), c.titles(rows, collidingTitles)))
	}
	page.Section("Collisions", "Items to which the tokenizer gave equal codes. "+note, largest, sizes)
}

func (c *Catalogue) meaningParts() ([]report.Part, error) {
	var parts []report.Part
	add := func(title string, t report.Table) {
		t.Title = title
		parts = append(parts, t)
	}
	all, err := c.Show(nil, 0)
	if err != nil {
		return nil, err
	}
	add("The most used first codes", all.NextTable(shownCodes))
	mostUsed := func(l *Listing) []uint32 {
		return append(l.Prefix, slices.MaxFunc(l.Next, func(a, b Branch) int { return a.Items - b.Items }).Code)
	}
	path, err := c.Show(mostUsed(all), shownItems)
	if err == nil && c.levels > 1 {
		add(fmt.Sprintf("Below code %s: the most used second codes", FormatCodes(path.Prefix)), path.NextTable(shownCodes))
		path, err = c.Show(mostUsed(path), shownItems)
	}
	if err != nil {
		return nil, err
	}
	add("Items whose IDs begin with "+FormatCodes(path.Prefix), path.ItemTable())
	if len(all.Next) <= dictionary {
		add("All first codes", all.NextTable(0))
	}
	return parts, nil
}

func (c *Catalogue) usageParts(stats Stats, training []vqtrain.Record) []report.Part {
	parts := tokenize.LevelCharts(training)
	if len(parts) == 0 {
		parts = append(parts, report.Paragraph("These codes took no training steps, so there is no course to draw."))
	}
	rank := report.LineChart{
		Title:   "Share of the items by rank of the code",
		Caption: "The flatter the line and the further right it reaches, the better the codes of a level share the work.",
		XLabel:  "rank of the code", YLabel: "share of the items", LogX: true, LogY: true,
	}
	for level := range c.levels {
		counts := make([]float64, c.vocab[level])
		for row := range c.Len() {
			counts[c.ID(row)[level]]++
		}
		rank.Series = append(rank.Series, report.RankSeries(c.positionName(level), counts))
	}
	table := positionTable(c.Table, stats)
	table.Caption = "Of the finished IDs. Perplexity is the number of equally used codes with the same entropy."
	return append(parts, rank, table)
}
