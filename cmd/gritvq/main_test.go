package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gritvq/gritvq/internal/networktest"
)

// TestMain makes this test binary answer as gritvq, and as the commands the
// scripts use, so that tests run the real program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gritvq":    measuredMain,
		"powerless": powerless,
		"vectors":   func() { check(writeVectors(os.Args[1:])) },
		"exits":     func() { check(expectExit(os.Args[1:])) },
		"jsonkeys":  func() { check(expectKeys(os.Args[1:])) },
		"networks":  func() { check(writeNetworks(os.Args[1])) },
	})
}

// cacheVariable names the environment variable of the user's cache, which tests leave alone.
const cacheVariable = "XDG_CACHE_HOME"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Condition: func(name string) (bool, error) {
		if name == "root" {
			return os.Geteuid() == 0, nil
		}
		return false, fmt.Errorf("unknown condition %q", name)
	}})
}

// writeNetworks is "networks DIR": networks of scores with weights that mean nothing.
func writeNetworks(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return networktest.Write(dir)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// expectExit runs "exits CODE command arguments…" and fails on another code.
func expectExit(args []string) error {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return err
	} else if code := cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[0] {
		return fmt.Errorf("exit code %d, want %s (%v)", code, args[0], exit)
	}
	return nil
}

// expectKeys checks that a file holds one JSON object with exactly these keys.
// "FILE:LIST" checks the objects of a list in it.
func expectKeys(args []string) error {
	path, list, inside := strings.Cut(args[0], ":")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return err
	}
	if !inside {
		return sameKeys(object, args[1:])
	}
	items, _ := object[list].([]any)
	if len(items) == 0 {
		return fmt.Errorf("%s is no list of objects", list)
	}
	for _, item := range items {
		entry, _ := item.(map[string]any)
		if err := sameKeys(entry, args[1:]); err != nil {
			return err
		}
	}
	return nil
}

func sameKeys(object map[string]any, keys []string) error {
	if got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(keys)); !slices.Equal(got, want) {
		return fmt.Errorf("keys %v, want %v", got, want)
	}
	return nil
}

// writeVectors is "vectors FILE.npy ROWS DIM [KIND]": clustered rows, the same
// for the same shape, spoiled according to the kind.
func writeVectors(args []string) error {
	path, kind := args[0], "plain"
	rows, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dim, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if len(args) > 3 {
		kind = args[3]
	}
	content, err := vectorsFile(rows, dim, kind)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func vectorsFile(rows, dim int, kind string) ([]byte, error) {
	values := clusteredRows(rows, dim)
	shape, descr, fortran := fmt.Sprintf("(%d, %d)", rows, dim), "<f4", "False"
	switch kind {
	case "plain", "truncated":
	case "nan":
		values[7*dim+1], values[9*dim] = float32(math.NaN()), float32(math.Inf(1))
	case "constant":
		for i := range values {
			values[i] = float32(i%dim) + 0.5
		}
	case "huge":
		for i := range values {
			values[i] = float32(math.Copysign(3.4e38, float64(values[i])))
		}
	case "outlier":
		values[9*dim] = -3.4e38
	case "fortran":
		fortran = "True"
		transposed := make([]float32, len(values))
		for i, x := range values {
			transposed[i%dim*rows+i/dim] = x
		}
		values = transposed
	case "1d":
		shape = fmt.Sprintf("(%d,)", rows*dim)
	case "3d":
		shape = fmt.Sprintf("(%d, 2, %d)", rows/2, dim)
	case "object":
		descr = "|O"
	case "magic":
		return []byte("this is no array, whatever its name says"), nil
	case "empty":
		return nil, nil
	default:
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	binary.Write(&b, binary.LittleEndian, values)
	if kind == "truncated" {
		b.Truncate(b.Len() - 5)
	}
	return b.Bytes(), nil
}

// clusteredRows draws rows [rows,dim] around a few dozen centres.
func clusteredRows(rows, dim int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(dim)))
	centres := make([]float32, 24*dim)
	for i := range centres {
		centres[i] = float32(3 * rng.NormFloat64())
	}
	values := make([]float32, rows*dim)
	for i := range rows {
		centre := rng.IntN(24)
		for j := range dim {
			values[i*dim+j] = centres[centre*dim+j] + float32(0.5*rng.NormFloat64())
		}
	}
	return values
}
