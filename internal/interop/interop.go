// Package interop runs Python programs in tests: the clients that files of gritvq are made for.
//
// make test-interop installs pinned versions into build/interop, make sentences those of an encoder of sentences into
// build/sentences. Where a module is missing the test is skipped, or fails if the variable GRITVQ_INTEROP is "required".
package interop

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// required is the value of GRITVQ_INTEROP that forbids skipping.
const required = "required"

// Python is an interpreter with the modules that a test asked for.
type Python struct{ path string }

// Find returns an interpreter with all of the modules: that of GRITVQ_PYTHON, of a directory in build, or of the system. It skips
// the test if there is none.
func Find(t testing.TB, modules ...string) Python {
	t.Helper()
	for _, path := range candidates() {
		if has(path, modules) {
			return Python{path}
		}
	}
	missing := "no Python with " + strings.Join(modules, ", ") + " was found: make test-interop and make sentences install some"
	if os.Getenv("GRITVQ_INTEROP") == required {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return Python{}
}

func candidates() []string {
	list := []string{os.Getenv("GRITVQ_PYTHON")}
	if root := repository(); root != "" {
		for _, environment := range []string{"interop", "sentences"} {
			list = append(list, filepath.Join(root, "build", environment, "bin", "python"))
		}
	}
	return append(list, "python3", "/usr/bin/python3")
}

// repository is the directory of this module's go.mod, "" outside a checkout.
func repository() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

var found sync.Map // of interpreter and modules: bool

func has(path string, modules []string) bool {
	if path == "" {
		return false
	}
	key := path + " " + strings.Join(modules, " ")
	if ok, known := found.Load(key); known {
		return ok.(bool)
	}
	const program = "import sys, importlib.util as u; sys.exit(not all(u.find_spec(m) for m in sys.argv[1:]))"
	ok := exec.Command(path, append([]string{"-c", program}, modules...)...).Run() == nil
	found.Store(key, ok)
	return ok
}

// Run runs a program with arguments in dir and returns what it prints. The test fails if the program does.
func (p Python) Run(t testing.TB, dir, program string, args ...string) []byte {
	t.Helper()
	command := exec.Command(p.path, append([]string{"-"}, args...)...)
	command.Dir, command.Stdin = dir, strings.NewReader(program)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONWARNINGS=ignore")
	var messages bytes.Buffer
	command.Stderr = &messages
	output, err := command.Output()
	if err != nil {
		t.Fatalf("the Python program failed: %v\n%s", err, messages.Bytes())
	}
	return output
}
