package eval

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func encodeRankingCSV(w io.Writer, r *Ranking, columns []rankColumn) error {
	table := csv.NewWriter(w)
	record := []string{userColumn, ranksColumn}
	for _, c := range columns {
		record = append(record, c.name())
	}
	_ = table.Write(record) // errors stay with the writer
	var ranks []byte
	for i := range r.Len() {
		ranks = ranks[:0]
		for j, rank := range r.Ranks(i) {
			if j > 0 {
				ranks = append(ranks, ' ')
			}
			ranks = strconv.AppendInt(ranks, int64(rank), 10)
		}
		record = append(record[:0], r.User(i), string(ranks))
		for _, c := range columns {
			record = append(record, strconv.FormatFloat(c.metric.Score(r.Ranks(i), c.k), 'g', 9, 64))
		}
		_ = table.Write(record)
	}
	table.Flush()
	return table.Error()
}

// readRankingFile opens path for one of the decoders.
func readRankingFile(path string, decode func(*os.File) (*Ranking, error)) (*Ranking, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the ranking: %s does not exist; check the path", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the ranking: %w", err)
	}
	defer file.Close()
	r, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s is no file of rankings: %w; write it again", path, err)
	}
	return r, nil
}

func decodeRankingCSV(file *os.File) (*Ranking, error) { return parseRankingCSV(file) }

// parseRankingCSV reads the table that encodeRankingCSV writes.
func parseRankingCSV(in io.Reader) (*Ranking, error) {
	table := csv.NewReader(in)
	table.ReuseRecord = true
	head, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("it has no header (%w)", err)
	}
	user, ranks := -1, -1
	var columns []rankColumn
	var fields []int // of columns
	for i, name := range head {
		switch c, score := parseRankColumn(name); {
		case name == userColumn:
			user = i
		case name == ranksColumn:
			ranks = i
		case score:
			columns, fields = append(columns, c), append(fields, i)
		}
	}
	if user < 0 || ranks < 0 {
		return nil, fmt.Errorf("its header lacks the column %q or %q", userColumn, ranksColumn)
	}
	r, scores := NewRanking(), make([]float64, len(columns))
	r.Depth = deepest(columns)
	for line := 2; ; line++ {
		record, err := table.Read()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		var list []int
		for _, text := range strings.Fields(record[ranks]) {
			rank, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("row %d has %q for a rank", line, text)
			}
			list = append(list, rank)
		}
		for i, field := range fields {
			if scores[i], err = strconv.ParseFloat(record[field], 64); err != nil {
				return nil, fmt.Errorf("row %d has %q for %s", line, record[field], columns[i].name())
			}
		}
		if err := r.addChecked(record[user], list, columns, scores); err != nil {
			return nil, fmt.Errorf("row %d: %w", line, err)
		}
	}
}
