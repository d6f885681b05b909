package progress

import (
	"io"
	"os"
)

// assumedColumns is the width taken where the terminal does not tell its own.
const assumedColumns = 80

func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n := terminalColumns(f); n > 0 {
			return n
		}
	}
	return assumedColumns
}
