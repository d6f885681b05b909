package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Bounds of a report of IDs.
const (
	shownGroups  = 12  // collisions
	shownTitles  = 5   // of a collision or a code
	shownCodes   = 12  // codes with their items
	shownItems   = 12  // of one prefix
	shownWords   = 4   // typical of a code
	longestTitle = 72  // characters of a title among others
	dictionary   = 512 // first codes in the list of all
)

// writeIDsReport makes the page of a table: how codes came into use, which items
// share theirs, and what codes mean.
func writeIDsReport(dir string, t *catalogue.Table, items []interactions.Item, k coder, command string) error {
	records, err := k.course()
	if err != nil {
		return err
	}
	stats := t.Stats()
	name := filepath.Base(filepath.Clean(dir))
	page := report.New("Semantic IDs: "+name, fmt.Sprintf("IDs of %s, by %s.", length(t), k.describe()))
	page.Facts(idsFacts(t, stats))
	page.Section("Codes in use", "A level that uses all of its codes, evenly, tells most items apart.", usageParts(t, stats, records)...)
	page.Section("Collisions", collisionNote(t, stats), collisionParts(t, stats, items)...)
	if titled(items) {
		page.Section("What codes mean", k.meaning()+" Typical words are more frequent below a code than in the whole catalogue.", meaningParts(t, items)...)
	}
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command}, report.Paragraph(versionsText(t)))
	page.Footer(fmt.Sprintf("gritvq %s. Tokenizer %.16s.", version.String(), t.Tokenizer()))
	return page.WriteFile(filepath.Join(dir, idsReport))
}

// length says what IDs are made of.
func length(t *catalogue.Table) string {
	text := report.Counted(t.Levels(), "code")
	if t.Resolution() == catalogue.Token {
		text += " and a token"
	}
	return text
}

func idsFacts(t *catalogue.Table, stats catalogue.Stats) []report.Fact {
	used, codes := 0, 0
	for level, p := range stats.Positions[:t.Levels()] {
		codes += t.Vocab()[level]
		used += int(p.Utilization*float64(t.Vocab()[level]) + 0.5)
	}
	after := "IDs are unique"
	if stats.After.Rate > 0 {
		after = report.Percent(stats.After.Rate, 2) + " after moving codes"
	}
	return []report.Fact{
		{Name: "items", Value: report.Count(t.Len()), Note: fmt.Sprintf("version %d of the table", t.Version())},
		{Name: "codes in use", Value: report.Percent(float64(used)/float64(codes), 1), Note: fmt.Sprintf("%s of %s", report.Count(used), report.Count(codes))},
		{Name: "collision rate", Value: report.Percent(stats.Before.Rate, 2), Note: "of the codes; " + after},
		{Name: "share their codes", Value: report.Percent(stats.Before.Sharing, 2), Note: "of the items"},
		{Name: "largest group", Value: report.Count(stats.Before.Largest), Note: "items with equal codes"},
	}
}

// usageParts draws the course of each level, and tells where it ended.
func usageParts(t *catalogue.Table, stats catalogue.Stats, records []vqtrain.Record) []report.Part {
	parts := courseCharts(records)
	if len(parts) == 0 {
		parts = append(parts, report.Paragraph("These codes took no training steps, so there is no course to draw."))
	}
	rank := report.LineChart{Title: "Share of the items by rank of the code", Caption: "The flatter the line and the further right it reaches, the better the codes of a level share the work.",
		XLabel: "rank of the code", YLabel: "share of the items", LogX: true, LogY: true}
	for level := range t.Levels() {
		counts := make([]float64, t.Vocab()[level])
		for row := range t.Len() {
			counts[t.ID(row)[level]]++
		}
		rank.Series = append(rank.Series, report.RankSeries(positionTitle(t, level), counts))
	}
	table := positionsTable(t, stats)
	table.Caption = "Of the finished IDs. Perplexity is the number of equally used codes with the same entropy."
	return append(parts, rank, table)
}

// courseCharts draw utilization and perplexity of every level over training;
// none without steps that were watched.
func courseCharts(records []vqtrain.Record) []report.Part {
	use := report.LineChart{Title: "Codes in use over training", Caption: "Share of each level's codes that recent batches chose; the rest is dead. A line that falls and stays down is a collapse.",
		XLabel: "step", YLabel: "codes in use (%)", Percent: true, FromZero: true}
	even := report.LineChart{Title: "Perplexity over training", Caption: "The number of equally used codes with the same entropy.", XLabel: "step", YLabel: "codes", FromZero: true}
	for i, r := range records {
		if i > 0 && records[i-1].Phase != r.Phase {
			mark := report.Mark{X: float64(r.Step), Label: "codes placed"}
			use.Marks, even.Marks = append(use.Marks, mark), append(even.Marks, mark)
		}
		if r.Levels == nil {
			continue
		}
		for level := range r.Levels.Utilization {
			if level == len(use.Series) {
				name := fmt.Sprintf("level %d", level)
				use.Series, even.Series = append(use.Series, report.Series{Name: name}), append(even.Series, report.Series{Name: name})
			}
			add(&use.Series[level], float64(r.Step), 100*r.Levels.Utilization[level])
			add(&even.Series[level], float64(r.Step), r.Levels.Perplexity[level])
		}
	}
	if len(use.Series) == 0 {
		return nil
	}
	return []report.Part{use, even}
}

func collisionNote(t *catalogue.Table, stats catalogue.Stats) string {
	if stats.Before.Rate == 0 {
		return "The tokenizer gave every item codes of its own."
	}
	if t.Resolution() == catalogue.Reassign {
		return "Items to which the tokenizer gave equal codes. The first keeps them, the others have the nearest last code that was free."
	}
	return "Items to which the tokenizer gave equal codes. The token at the end of their IDs tells them apart."
}

// collisionParts list the sizes of groups and the items of the largest.
func collisionParts(t *catalogue.Table, stats catalogue.Stats, items []interactions.Item) []report.Part {
	groups := t.Largest(shownGroups)
	if len(groups) == 0 {
		return nil
	}
	sizes := report.Table{Title: "Items with the same codes", Columns: []report.Column{{Name: "items a group", Align: report.Right}, {Name: "groups", Align: report.Right}, {Name: "share of the items", Align: report.Right}}}
	for _, g := range stats.Groups {
		sizes.Rows = append(sizes.Rows, report.Cells(report.Count(g.Size), report.Count(g.Groups), report.Percent(float64(g.Size*g.Groups)/float64(stats.Items), 2)))
	}
	largest := report.Table{Title: "The largest groups", Columns: []report.Column{{Name: "codes", Align: report.Right}, {Name: "items", Align: report.Right}, {Name: "titles"}}}
	for _, rows := range groups {
		largest.Rows = append(largest.Rows, report.Cells(codesText(t.Codes(rows[0])), report.Count(len(rows)), titlesText(items, rows, shownTitles)))
	}
	return []report.Part{largest, sizes}
}

// meaningParts show the items behind the most used first codes, one path down to
// single items, and all first codes.
func meaningParts(t *catalogue.Table, items []interactions.Item) []report.Part {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text
	}
	words := catalogue.NewWords(texts)
	first := byItems(t.Branches(nil))
	parts := []report.Part{branchTable("The most used first codes", t, words, items, nil, first[:min(shownCodes, len(first))])}
	path := []uint32{first[0].Code}
	if second := byItems(t.Branches(path)); t.Levels() > 1 {
		parts = append(parts, branchTable(fmt.Sprintf("Below code %s: the most used second codes", codesText(path)), t, words, items, path, second[:min(shownCodes, len(second))]))
		path = append(path, second[0].Code)
	}
	parts = append(parts, itemsTable("Items whose IDs begin with "+codesText(path), t, items, slices.Collect(t.Under(path)), shownItems))
	all := t.Branches(nil)
	if len(all) > dictionary {
		return parts
	}
	return append(parts, branchTable("All first codes", t, words, items, nil, all))
}

// byItems sorts branches, the fullest first.
func byItems(list []catalogue.Branch) []catalogue.Branch {
	slices.SortStableFunc(list, func(a, b catalogue.Branch) int { return b.Items - a.Items })
	return list
}

// branchTable says of each code after prefix what is below it.
func branchTable(title string, t *catalogue.Table, words *catalogue.Words, items []interactions.Item, prefix []uint32, list []catalogue.Branch) report.Table {
	table := report.Table{Title: title, Columns: []report.Column{{Name: "code", Align: report.Right}, {Name: "items", Align: report.Right}, {Name: "typical words"}, {Name: "for example"}}}
	for _, b := range list {
		path := append(slices.Clone(prefix), b.Code)
		rows := slices.Collect(t.Under(path))
		table.Rows = append(table.Rows, report.Cells(codesText(path), report.Count(b.Items), strings.Join(words.Typical(rows, shownWords), ", "), titlesText(items, spread(rows, 3), 3)))
	}
	return table
}

// itemsTable lists up to limit items with their IDs.
func itemsTable(title string, t *catalogue.Table, items []interactions.Item, rows []int, limit int) report.Table {
	table := report.Table{Title: title, Columns: []report.Column{{Name: "ID", Align: report.Left}, {Name: "item"}, {Name: "title"}}}
	if len(rows) > limit {
		table.Caption = fmt.Sprintf("%d of %d.", limit, len(rows))
	}
	for _, row := range rows[:min(limit, len(rows))] {
		table.Rows = append(table.Rows, report.Cells(codesText(t.ID(row)), t.Key(row), titleOf(items[row])))
	}
	return table
}

// spread picks n rows evenly.
func spread(rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	picked := make([]int, n)
	for i := range picked {
		picked[i] = rows[i*len(rows)/n]
	}
	return picked
}

func codesText(codes []uint32) string {
	text := make([]string, len(codes))
	for i, code := range codes {
		text[i] = strconv.Itoa(int(code))
	}
	return strings.Join(text, "-")
}

// titlesText lists up to limit titles, and counts the rest.
func titlesText(items []interactions.Item, rows []int, limit int) string {
	var titles []string
	for _, row := range rows[:min(limit, len(rows))] {
		titles = append(titles, shortened(titleOf(items[row])))
	}
	text := strings.Join(titles, " · ")
	if len(rows) > limit {
		text += fmt.Sprintf(" · and %d more", len(rows)-limit)
	}
	return text
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > longestTitle {
		return strings.TrimRight(string(runes[:longestTitle-1]), " ,.-") + "…"
	}
	return text
}

// titleOf is what a reader knows an item by.
func titleOf(item interactions.Item) string {
	if item.Title != "" {
		return item.Title
	}
	return "item " + item.ID
}

// titled says whether anything is known of the items.
func titled(items []interactions.Item) bool {
	return slices.ContainsFunc(items, func(item interactions.Item) bool { return item.Title != "" })
}

func versionsText(t *catalogue.Table) string {
	var text []string
	for _, v := range t.Versions() {
		text = append(text, fmt.Sprintf("version %d added %s", v.Number, report.Counted(v.Added, "item")))
	}
	return "The table: " + strings.Join(text, ", ") + "."
}

// writeUnionReport makes the page of several catalogues.
func writeUnionReport(dir string, list []*itemSource, tables []*catalogue.Table, whole *catalogue.Table, k coder, command string) error {
	page := report.New("Semantic IDs of "+report.Counted(len(list), "catalogue"), "Tokenizer: "+k.describe()+".")
	note := "Each catalogue has its own table and report, in the directory of its name."
	if whole != nil {
		note = "One tokenizer for all. " + note + " The last row counts collisions and codes over all items together."
		records, err := k.course()
		if err != nil {
			return err
		}
		if charts := courseCharts(records); len(charts) > 0 {
			page.Section("Training", "", charts...)
		}
	}
	overview := unionTable(list, tables, whole)
	for i, c := range list {
		overview.Rows[i][0].Link = (&url.URL{Path: filepath.Base(c.dir) + "/" + idsReport}).String()
	}
	page.Section("Catalogues", note, overview)
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command})
	return page.WriteFile(filepath.Join(dir, idsReport))
}
