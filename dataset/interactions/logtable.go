package interactions

import (
	"context"
	"fmt"
)

// noTime is the Options.Time of tables whose order is that of time.
const noTime = "-"

// readTable reads an interaction a row.
func readTable(ctx context.Context, t *table, opt Options) (*recorder, error) {
	r := &recorder{}
	if len(t.first) == 0 {
		return r, nil
	}
	at, header, err := logColumns(t, opt)
	if err != nil {
		return nil, err
	}
	r.untimed = at[2] < 0
	return r, t.rows(ctx, at, header, func(n int, fields []string) error {
		if fields[0] == "" || fields[1] == "" {
			return fmt.Errorf("%s %d of %s lacks its user or item; fill or drop it", t.unit, n, t.path)
		}
		if !r.untimed {
			when, err := parseTime(fields[2])
			if err != nil {
				return fmt.Errorf("%s %d of %s has %w", t.unit, n, t.path, err)
			}
			r.times = append(r.times, when)
		}
		r.add(fields[0], fields[1])
		return r.proceed(ctx, t.path)
	})
}

// logColumns finds user, item and time, the latter -1 if the order of rows is that of time. Of tables of two or three
// columns without a header the order of the columns says which is which, and MovieLens' .dat has four.
func logColumns(t *table, opt Options) (at []int, header bool, err error) {
	n, chosen := len(t.first), opt.User+opt.Item != ""
	user := column{what: "user", usual: userNames, choice: opt.User}
	item := column{what: "item", usual: itemNames, choice: opt.Item}
	when := column{what: "time", usual: timeNames, choice: opt.Time, optional: n == 2}
	if opt.Time == noTime {
		when = column{what: "time", optional: true}
	}
	wanted := []column{user, item, when}
	header = t.named || isHeader(t.first, wanted)
	switch {
	case header || chosen:
	case n == 2 || n == 3 && opt.Time == noTime:
		return []int{0, 1, -1}, false, nil
	case n == 3:
		return []int{0, 1, 2}, false, nil
	case t.double && n == 4 && opt.Time == "":
		return []int{0, 1, 3}, false, nil
	}
	at, err = places(t.path, t.first, wanted, ErrColumns)
	if err != nil && opt.Time == "" && user.find(t.first) >= 0 && item.find(t.first) >= 0 && when.find(t.first) < 0 {
		err = fmt.Errorf("%w, and %q for the time if rows are in chronological order", err, noTime)
	}
	return at, header, err
}
