package interactions

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/parquet-go/parquet-go"
)

// readParquetLog reads an interaction a row.
func readParquetLog(ctx context.Context, path string, file io.ReaderAt, size int64, opt Options) (*Log, error) {
	archive, err := parquetfile.OpenColumns(path, file, size)
	if err != nil {
		return nil, err
	}
	names := archive.Names()
	at, err := namedColumns(path, names, opt)
	if err != nil {
		return nil, err
	}
	chosen := []string{names[at.user], names[at.item]}
	if at.time >= 0 {
		chosen = append(chosen, names[at.time])
	}
	r, row := &recorder{untimed: at.time < 0}, 0
	err = archive.EachRow(ctx, chosen, func(values []parquet.Value) error {
		if err := r.proceed(ctx, path); err != nil {
			return err
		}
		user, item := valueText(values[0]), valueText(values[1])
		if user == "" || item == "" {
			return fmt.Errorf("row %d of %s lacks its user or item; fill or drop it", row, path)
		}
		if at.time >= 0 {
			when, err := valueTime(values[2])
			if err != nil {
				return fmt.Errorf("row %d of %s has %w", row, path, err)
			}
			r.times = append(r.times, when)
		}
		r.add(user, item)
		row++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.log(path), nil
}

// valueText returns a name: text as it is, numbers in decimal, nothing for a
// null. Whole floats lose their point, which dataframes add to integer columns
// with gaps.
func valueText(v parquet.Value) string {
	if v.IsNull() {
		return ""
	}
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return strings.TrimSpace(string(v.ByteArray()))
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float, parquet.Double:
		x := valueNumber(v)
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.FormatInt(int64(x), 10)
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return v.String()
}

// valueNumber returns a number of any width, NaN for anything else.
func valueNumber(v parquet.Value) float64 {
	if v.IsNull() {
		return math.NaN()
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	case parquet.Int96: // the Julian day, and nanoseconds of it
		const julian1970 = 2_440_588
		parts := v.Int96()
		return (float64(parts[2])-julian1970)*86400 + float64(uint64(parts[1])<<32|uint64(parts[0]))*1e-9
	}
	return math.NaN()
}

// valueTime is parseTime for parquet values; only the order of times counts, so
// their unit does not matter.
func valueTime(v parquet.Value) (float64, error) {
	if kind := v.Kind(); !v.IsNull() && slices.Contains([]parquet.Kind{parquet.ByteArray, parquet.FixedLenByteArray}, kind) {
		return parseTime(string(v.ByteArray()))
	}
	when := valueNumber(v)
	if math.IsNaN(when) || math.IsInf(when, 0) {
		return 0, fmt.Errorf("the time %v, which is no number; fill or drop it", v)
	}
	return when, nil
}
