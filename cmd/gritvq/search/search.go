// Package search is the command gritvq search.
package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/tokenize"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o tokenize.SearchOptions
	var json bool
	cmd := &cobra.Command{
		Use:   "search DIR CODES QUERIES",
		Short: "Find the nearest of vectors that are stored as codes",
		Long: `Finds the rows of a file of codes whose reconstructions are nearest to each query, by
squared Euclidean distance. The search is exact: it compares every row, through
look-up tables where codes are for the vectors themselves and levels are independent,
and by reconstructing the rows where a network or conditional levels make them.

With --vectors, the vectors that were encoded rank the nearest candidates again.

Without -o results are printed, a query a line: its number, then ROW:DISTANCE, nearest
first, numbered from 0. A .npy holds the row numbers [queries, k]; distances lie beside it in
NAME.distances.npy. .jsonl and .parquet hold both.`,
		Example: `  gritvq encode tok vectors.npy -o codes.npy
  gritvq search tok codes.npy queries.npy -k 10
  gritvq search tok codes.npy queries.npy -k 100 -o found.npy
  gritvq search tok codes.gvq queries.npy --vectors vectors.npy --candidates 200 -o found.parquet`,
		Args: cli.Arguments("DIR", "CODES", "QUERIES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Codes, o.Queries = args[0], args[1], args[2]
			return run(cmd.Context(), s, o, json)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.K, "k", "k", 10, "rows to find for every query")
	f.StringVarP(&o.Output, "output", "o", "", "file of the results (.npy, .jsonl, .parquet)")
	f.StringVar(&o.Originals, "vectors", "", "the vectors that were encoded, to rank the nearest by codes again")
	f.IntVar(&o.Candidates, "candidates", 0, "rows to rank again (default 10 times -k)")
	f.BoolVar(&o.Force, "force", false, "search a .gvq file of another tokenizer")
	cli.WorkersFlag(cmd, &o.Workers)
	cli.JSONFlag(cmd, &json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o tokenize.SearchOptions, json bool) error {
	found, err := tokenize.Search(ctx, o, s)
	if err != nil {
		return err
	}
	if json {
		return s.WriteJSON(found)
	}
	if found.Output != "" {
		_, err := fmt.Fprintln(s.Out, found)
		return err
	}
	for _, n := range found.Neighbours {
		var line strings.Builder
		fmt.Fprint(&line, n.Query)
		for i, row := range n.Rows {
			fmt.Fprintf(&line, " %d:%s", row, report.Number(float64(n.Distances[i]), 6))
		}
		if _, err := fmt.Fprintln(s.Out, line.String()); err != nil {
			return err
		}
	}
	return nil
}
