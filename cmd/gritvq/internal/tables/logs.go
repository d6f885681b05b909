package tables

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/usage"
)

// LogFlags choose the columns of a log and the part of it that counts.
type LogFlags struct {
	core    int
	columns []string
	flag    string // that chooses columns
}

// Add adds the flags. The columns are chosen by --columns, or by --log-columns where --columns is for another table.
func (o *LogFlags) Add(cmd *cobra.Command, flag string) {
	o.flag = flag
	f := cmd.Flags()
	f.IntVar(&o.core, "core", 0, "minimum interactions of a user and of an item; others are removed, repeatedly until all have as many")
	f.StringSliceVar(&o.columns, flag, nil,
		"the columns `USER,ITEM,TIME` of a log, by name or by number from 1, as in visitorid,itemid,timestamp or 1,2,4;\n"+
			"TIME may be - if rows are in chronological order (default: columns with the usual names)")
}

// Options returns the choices.
func (o *LogFlags) Options() (interactions.Options, error) {
	options := interactions.Options{MinUser: o.core, MinItem: o.core}
	if o.core < 0 {
		return options, usage.Errorf("--core %d must not be negative", o.core)
	}
	if o.columns == nil {
		return options, nil
	}
	parts := trimmed(o.columns)
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return options, usage.Errorf("--%s %s: name user, item and, unless it goes by a usual name, time, "+
			"as in visitorid,itemid,timestamp or 1,2,4", o.flag, strings.Join(o.columns, ","))
	}
	options.User, options.Item = parts[0], parts[1]
	if len(parts) == 3 {
		options.Time = parts[2]
	}
	return options, nil
}

// Explain adds the flag that chooses columns to an error about them.
func (o *LogFlags) Explain(err error) error { return explain(err, o.flag, "USER,ITEM,TIME") }
