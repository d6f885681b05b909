package weights

import "github.com/gomlx/compute"

// Compiles says whether an engine translates programs before it runs them, as
// XLA does for seconds or a minute: then few shapes, few programs and few
// variables are worth having. The embedded one starts at once.
func Compiles(backend compute.Backend) bool { return backend.Name() != "Go Backend" }
