package interop

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Node is the interpreter of JavaScript with the packages that a test asked for.
type Node struct{ path, modules string }

// FindNode returns Node.js with a package of build/web, which make test-interop installs. It skips the test if there is none.
func FindNode(t testing.TB, module string) Node {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js")
	}
	modules := filepath.Join(repository(), "build", "web", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, module)); err != nil {
		missing := "Node.js has no " + module + ": make test-interop installs it"
		if os.Getenv("GRITVQ_INTEROP") == required {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return Node{path, modules}
}

// Run runs a program in dir. The test fails if the program does.
func (n Node) Run(t testing.TB, dir, program string) {
	t.Helper()
	command := exec.Command(n.path, "-")
	command.Dir, command.Stdin = dir, strings.NewReader(program)
	command.Env = append(os.Environ(), "NODE_PATH="+n.modules)
	var messages bytes.Buffer
	command.Stdout, command.Stderr = &messages, &messages
	if err := command.Run(); err != nil {
		t.Fatalf("the JavaScript program failed: %v\n%s", err, messages.Bytes())
	}
}
