package eval

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// A file of rankings has a row a user: "user", "ranks" (a list; in CSV separated by
// spaces) and a column such as "ndcg@10" for every metric and cutoff. These scores are
// for other programs, and a check when the file is read.
const (
	userColumn  = "user"
	ranksColumn = "ranks"
	maxCutoff   = 1 << 30
)

type rankColumn struct {
	metric RankMetric
	k      int
}

func (c rankColumn) name() string { return string(c.metric) + "@" + strconv.Itoa(c.k) }

// parseRankColumn reads a name such as "recall@10".
func parseRankColumn(name string) (rankColumn, bool) {
	metric, digits, found := strings.Cut(name, "@")
	k, err := strconv.Atoi(digits)
	c := rankColumn{RankMetric(metric), k}
	return c, found && err == nil && k >= 1 && k <= maxCutoff && c.metric.check() == nil && c.name() == name
}

func rankColumns(cutoffs []int) []rankColumn {
	var columns []rankColumn
	for _, k := range cutoffs {
		for _, metric := range RankMetrics() {
			columns = append(columns, rankColumn{metric, k})
		}
	}
	return columns
}

type rankFormat struct {
	encode func(io.Writer, *Ranking, []rankColumn) error
	decode func(*os.File) (*Ranking, error)
}

func rankFormatOf(path string) (rankFormat, bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return rankFormat{encodeRankingCSV, func(file *os.File) (*Ranking, error) { return parseRankingCSV(file) }}, true
	case ".parquet":
		return rankFormat{encodeRankingParquet, decodeRankingParquet}, true
	}
	return rankFormat{}, false
}

// CheckRankingName reports a name that WriteRanking refuses.
func CheckRankingName(path string) error {
	if _, ok := rankFormatOf(path); !ok {
		return fmt.Errorf("rankings are written to .parquet or .csv, not to %s; choose another name", path)
	}
	return nil
}

// WriteRanking stores the users, their ranks and their scores at cutoffs (by default
// r.Cutoffs) in a .parquet or .csv file, whole or not at all. It fails on another
// extension and on cutoffs that are below 1 or repeated.
func WriteRanking(path string, r *Ranking, cutoffs ...int) error {
	if len(cutoffs) == 0 {
		cutoffs = r.Cutoffs()
	}
	for i, k := range cutoffs {
		if k < 1 || k > maxCutoff || slices.Contains(cutoffs[:i], k) {
			return fmt.Errorf("cutoff %d for %s is impossible or repeated; give distinct numbers from 1", k, path)
		}
	}
	if err := CheckRankingName(path); err != nil {
		return err
	}
	format, _ := rankFormatOf(path)
	file, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if err := format.encode(file, r, rankColumns(cutoffs)); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return file.Commit()
}

// ReadRanking reads a file of WriteRanking and checks its scores against its ranks. The
// largest cutoff is the depth of the lists; other columns are ignored. Errors are one
// sentence that names the file, the row and a remedy.
func ReadRanking(path string) (*Ranking, error) {
	format, ok := rankFormatOf(path)
	if !ok {
		return nil, fmt.Errorf("rankings are read from .parquet or .csv, not from %s", path)
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the ranking: %s does not exist; check the path", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the ranking: %w", err)
	}
	defer file.Close()
	r, err := format.decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s is no file of rankings: %w; write it again", path, err)
	}
	return r, nil
}

// deepest is the largest cutoff of columns, 0 without any.
func deepest(columns []rankColumn) int {
	k := 0
	for _, c := range columns {
		k = max(k, c.k)
	}
	return k
}

// addChecked adds a user of a file and checks that the scores [columns] follow from the
// ranks. A score that is not in the file is NaN.
func (r *Ranking) addChecked(user string, ranks []int, columns []rankColumn, scores []float64) error {
	if err := r.Add(user, ranks...); err != nil {
		return err
	}
	own := r.Ranks(r.Len() - 1)
	for i, c := range columns {
		if want := c.metric.Score(own, c.k); !(math.Abs(scores[i]-want) <= 1e-6) {
			return fmt.Errorf("user %q has %s %g, the ranks give %g", user, c.name(), scores[i], want)
		}
	}
	return nil
}

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
