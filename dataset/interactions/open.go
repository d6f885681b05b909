package interactions

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/dataset"
)

// Options refine Open. The zero value suits sequences, and tables whose header
// or order says which columns are which.
type Options struct {
	// User, Item and Time choose the columns of a table by name or, from 1, by
	// number. A Time of "-" says that rows are in chronological order. They
	// must be empty for other formats.
	User, Item, Time string
	// MinUser and MinItem remove users and items with fewer interactions,
	// alternately, until all have enough: 5 and 5 give the 5-core.
	MinUser, MinItem int
}

func init() {
	dataset.Register(dataset.Interactions, ".txt", ".tab", ".data")
	dataset.Register(dataset.Items, ".jsonl", ".csv", ".tsv", ".psv", ".item", ".dat")
}

// logFormats completes the sentence "expected".
const logFormats = "sequences (.txt), a table (.csv, .tsv, .psv, .dat with \"::\") or .parquet"

// Open reads the log behind path:
//
//   - .txt: one user a line, the user and then the items, oldest first,
//     separated by blanks
//   - .csv, .tsv (also .tab, .data), .psv: one interaction a row, in columns
//     for user, item and, unless rows are in chronological order, time; if the
//     first line lacks the usual separator, another one of comma, tab, "|" and
//     ";" is taken
//   - .dat: the same with "::" between columns, by default user, item, rating
//     and time, as MovieLens has it
//   - .parquet: the same
//   - "synthetic:shop?users=N&items=M&seed=S": the log of a built-in shop, see
//     NewShop
//
// Columns are found by the usual names (user, user_id, userId, reviewerID, uid;
// item, item_id, movieId, product_id, asin, iid; time, timestamp,
// unixReviewTime, date), or by order in tables without a header: user, item and
// time if there are three columns, user and item if there are two. Times are
// numbers or dates; they are compared as float64, which tells seconds apart to
// a quarter of a microsecond. Interactions of one time keep the order of the
// file, and repeated ones are kept. ctx stops the reading. Errors are one
// sentence that names the file and a remedy.
func Open(ctx context.Context, path string, opt Options) (*Log, error) {
	log, err := openLog(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	if log.Len() == 0 {
		return nil, fmt.Errorf("%s has no interactions; check what was saved", path)
	}
	core := log.Core(opt.MinUser, opt.MinItem)
	if core.Len() == 0 {
		return nil, fmt.Errorf("no user of %s has %d interactions with items that have %d; ask for fewer",
			path, max(1, opt.MinUser), max(1, opt.MinItem))
	}
	return core, nil
}

func openLog(ctx context.Context, path string, opt Options) (*Log, error) {
	extension := strings.ToLower(filepath.Ext(path))
	if chosen := opt.User+opt.Item+opt.Time != ""; chosen && (dataset.IsSynthetic(path) || extension == ".txt") {
		return nil, fmt.Errorf("%s is no table with columns to choose from; "+
			"leave the choice out, or name a table .csv, .tsv, .psv, .dat or .parquet", path)
	}
	if dataset.IsSynthetic(path) {
		shop, err := OpenShop(path)
		if err != nil {
			return nil, err
		}
		return shop.Log, nil
	}
	in, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var recorded *recorder
	if extension == ".txt" && !in.isParquet() {
		recorded, err = readSequences(ctx, path, in.withoutMark())
	} else {
		var t *table
		if t, err = in.table(logFormats); err == nil {
			recorded, err = readTable(ctx, t, opt)
		}
	}
	if err != nil {
		return nil, err
	}
	return recorded.log(path), nil
}

// maxInteractions bounds a log: interactions are numbered by int32 while they
// are sorted.
const maxInteractions = math.MaxInt32

// pause is how many rows are read between looks at ctx.
const pause = 1 << 14

// proceed reports, now and then, that reading has to stop.
func (r *recorder) proceed(ctx context.Context, path string) error {
	if n := len(r.userOf); n%pause == 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading %s was stopped: %w", path, err)
		}
	} else if n >= maxInteractions {
		return fmt.Errorf("%s has more than %d interactions; split it", path, maxInteractions)
	}
	return nil
}
