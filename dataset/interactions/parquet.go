package interactions

import (
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// valueText returns text as it is, numbers in decimal, nothing for a null. Whole
// floats lose their point, which dataframes add to integer columns with gaps.
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
	case parquet.Float:
		return floatText(float64(v.Float()))
	case parquet.Double:
		return floatText(v.Double())
	case parquet.Int96: // a time: the Julian day, and nanoseconds of it
		const julian1970 = 2_440_588
		parts := v.Int96()
		return floatText((float64(parts[2])-julian1970)*86400 + float64(uint64(parts[1])<<32|uint64(parts[0]))*1e-9)
	}
	return v.String()
}

func floatText(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
