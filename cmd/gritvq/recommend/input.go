package recommend

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/recommend"
)

// logFlags select the part of a log that counts.
type logFlags struct {
	core    int
	columns []string
}

func (o *logFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.core, "core", 0, "keep to users and items of at least so many interactions, taken away in turn until all have them")
	f.StringSliceVar(&o.columns, "columns", nil,
		"the columns `USER,ITEM,TIME` of a table, by name or by number from 1, as in visitorid,itemid,timestamp or 1,2,4;\n"+
			"a TIME of - says that rows are in chronological order (default: found by the usual names)")
}

// source returns the log at path.
func (o *logFlags) source(path string) (log recommend.Source, err error) {
	options := interactions.Options{MinUser: o.core, MinItem: o.core}
	if o.core < 0 {
		return log, usage.Errorf("--core %d must not be negative", o.core)
	}
	if o.columns == nil {
		return recommend.Log(path, options), nil
	}
	var parts []string
	for _, part := range o.columns {
		parts = append(parts, strings.TrimSpace(part))
	}
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return log, usage.Errorf("--columns %s: name user, item and, unless it goes by a usual name, time, "+
			"as in visitorid,itemid,timestamp or 1,2,4", strings.Join(o.columns, ","))
	}
	options.User, options.Item = parts[0], parts[1]
	if len(parts) == 3 {
		options.Time = parts[2]
	}
	return recommend.Log(path, options), nil
}

// explainColumns adds the flag that chooses columns to an error about them.
func explainColumns(err error) error {
	if errors.Is(err, interactions.ErrColumns) {
		return fmt.Errorf("%w: --columns USER,ITEM,TIME", err)
	}
	return err
}

// itemNames splits a list of items at its commas, but for those in quotes.
func itemNames(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	in := csv.NewReader(strings.NewReader(strings.NewReplacer("\r\n", ",", "\n", ",").Replace(list)))
	in.TrimLeadingSpace = true
	names, err := in.Read()
	if err != nil {
		return nil, usage.Errorf(`--history %s: write item,item,"an item, with a comma"`, list)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}
