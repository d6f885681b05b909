package eval

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/internal/parquetfile"
)

// encodeRankingParquet writes required columns; ranks is a list of int32.
func encodeRankingParquet(w io.Writer, r *Ranking, columns []rankColumn) error {
	group := parquet.Group{
		userColumn:  parquet.String(),
		ranksColumn: parquet.List(parquet.Leaf(parquet.Int32Type)),
	}
	for _, c := range columns {
		group[c.name()] = parquet.Leaf(parquet.DoubleType)
	}
	schema := parquet.NewSchema("ranking", group)
	place := func(path ...string) int {
		leaf, _ := schema.Lookup(path...)
		return leaf.ColumnIndex
	}
	user, list := place(userColumn), place(ranksColumn, "list", "element")
	var places []int
	for _, c := range columns {
		places = append(places, place(c.name()))
	}
	table := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))
	cells := make([][]parquet.Value, len(columns)+2) // of one row, by place
	for i := range r.Len() {
		for at := range cells {
			cells[at] = cells[at][:0]
		}
		cells[user] = append(cells[user], parquet.ByteArrayValue([]byte(r.User(i))).Level(0, 0, user))
		for j, rank := range r.Ranks(i) {
			cells[list] = append(cells[list], parquet.Int32Value(rank).Level(min(j, 1), 1, list))
		}
		for c, column := range columns {
			score := column.metric.Score(r.Ranks(i), column.k)
			cells[places[c]] = append(cells[places[c]], parquet.DoubleValue(score).Level(0, 0, places[c]))
		}
		var row parquet.Row
		for _, values := range cells {
			row = append(row, values...)
		}
		if _, err := table.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return table.Close()
}

func decodeRankingParquet(file *os.File) (r *Ranking, err error) {
	defer func() { // the decoder panics on some damaged pages
		if problem := recover(); problem != nil {
			err = fmt.Errorf("it is damaged (%v)", problem)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("it is damaged (%w)", err)
	}
	if err := parquetfile.CheckPages(archive); err != nil {
		return nil, fmt.Errorf("it is damaged (%w)", err)
	}
	layout, err := rankLayoutOf(archive)
	if err != nil {
		return nil, err
	}
	r = NewRanking()
	r.Depth = deepest(layout.columns)
	buffer := make([]parquet.Row, 256)
	for _, group := range archive.RowGroups() {
		rows := group.Rows()
		err := layout.readRows(r, rows, buffer)
		rows.Close()
		if err != nil {
			return nil, err
		}
	}
	if int64(r.Len()) != archive.NumRows() {
		return nil, fmt.Errorf("it is damaged (%d rows stated, %d found)", archive.NumRows(), r.Len())
	}
	return r, nil
}

type rankLayout struct {
	user, ranks int
	columns     []rankColumn
	places      map[int]int // from leaf columns to columns
}

func rankLayoutOf(archive *parquet.File) (*rankLayout, error) {
	layout := &rankLayout{user: -1, ranks: -1, places: map[int]int{}}
	for _, path := range archive.Schema().Columns() {
		leaf, _ := archive.Schema().Lookup(path...)
		kind := leaf.Node.Type().Kind()
		c, score := parseRankColumn(strings.Join(path, "."))
		switch {
		case path[0] == userColumn && kind == parquet.ByteArray:
			layout.user = leaf.ColumnIndex
		case path[0] == ranksColumn && kind == parquet.Int32 && leaf.MaxRepetitionLevel == 1:
			layout.ranks = leaf.ColumnIndex
		case score && kind == parquet.Double:
			layout.places[leaf.ColumnIndex] = len(layout.columns)
			layout.columns = append(layout.columns, c)
		}
	}
	if layout.user < 0 || layout.ranks < 0 {
		return nil, fmt.Errorf("it lacks the column %q of strings or %q of lists of int32", userColumn, ranksColumn)
	}
	return layout, nil
}

func (l *rankLayout) readRows(r *Ranking, rows parquet.Rows, buffer []parquet.Row) error {
	scores := make([]float64, len(l.columns))
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			user, ranks := "", []int(nil)
			for i := range scores {
				scores[i] = math.NaN()
			}
			for _, v := range row {
				at, score := l.places[v.Column()]
				switch {
				case v.IsNull():
				case v.Column() == l.user:
					user = string(v.ByteArray())
				case v.Column() == l.ranks:
					ranks = append(ranks, int(v.Int32()))
				case score:
					scores[at] = v.Double()
				}
			}
			if err := r.addChecked(user, ranks, l.columns, scores); err != nil {
				return fmt.Errorf("row %d: %w", r.Len(), err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is damaged (%w)", err)
		}
	}
}
