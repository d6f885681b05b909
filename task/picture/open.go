package picture

import (
	"context"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task"
)

// Open opens pictures, shows how far it is, and tells of damaged ones when they are met.
func Open(ctx context.Context, path string, o images.Options, watch task.Watcher) (*images.Set, error) {
	line := watch.Line(0, "files")
	defer line.Done()
	o.Progress = func(done, total int64) {
		if total > 0 {
			line.Of(total, "") // bytes, or members of an archive
		}
		line.Update(done, "of "+path+" read")
	}
	o.Warn = func(d images.Damage) { watch.Remark("%v; it is left out", &d) }
	return images.Open(ctx, path, o)
}
