// Package task is shared by the workflows below it. A workflow is a whole job,
// such as training a tokenizer into a directory, that a command, a server or a
// test calls in the same way.
package task

// Watcher receives the progress of a workflow. A command prints it.
type Watcher interface {
	// Remark is a line worth keeping: a note, a warning, the next stage.
	Remark(format string, args ...any)
	// Line starts a progress line for total units, such as "rows"; 0 is unknown.
	Line(total int, units string) Line
}

// Line is one progress line.
type Line interface {
	// Of changes the total and its units.
	Of(total int64, units string)
	// Update says how many units are done, and describes the work.
	Update(done int64, text string)
	// Status shows the work before the next unit, where a line can be redrawn.
	Status(text string)
	// Log keeps a text where a line cannot be redrawn.
	Log(text string)
	// Done ends the line.
	Done()
}

// Silent is a Watcher that keeps everything to itself.
type Silent struct{}

// Remark does nothing.
func (Silent) Remark(string, ...any) {}

// Line returns a line that is not shown.
func (Silent) Line(int, string) Line { return silentLine{} }

type silentLine struct{}

func (silentLine) Of(int64, string)     {}
func (silentLine) Update(int64, string) {}
func (silentLine) Status(string)        {}
func (silentLine) Log(string)           {}
func (silentLine) Done()                {}
