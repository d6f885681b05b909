package seal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	want := map[string]any{"name": "a", "list": []any{1.0, 2.5}, "nested": map[string]any{Key: "x"}}
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := ReadFile(path, &got); err != nil {
		t.Fatal(err)
	}
	if delete(got, Key); !reflect.DeepEqual(got, want) {
		t.Errorf("read %v", got)
	}
	content, err := os.ReadFile(path)
	if err != nil || !json.Valid(content) {
		t.Fatalf("%s is no JSON, %v", content, err)
	}
	for i := range content {
		for bit := range 8 {
			content[i] ^= 1 << bit
			if Check(content) == nil {
				t.Errorf("bit %d of byte %d (%q) was flipped unnoticed", bit, i, content[i]^1<<bit)
			}
			content[i] ^= 1 << bit
		}
		if Check(content[:i]) == nil {
			t.Errorf("the content cut to %d bytes passes", i)
		}
	}
}

func TestUnsealed(t *testing.T) {
	for _, content := range []string{"", "{}", `{"a":1}` + "\n", "null"} {
		if err := Check([]byte(content)); !errors.Is(err, ErrUnsealed) {
			t.Errorf("%q: %v", content, err)
		}
	}
	for _, object := range []string{"", "{}", "[1]", "{ }"} {
		if _, err := Add([]byte(object)); err == nil {
			t.Errorf("%q was sealed", object)
		}
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := ReadFile(path, &struct{}{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"a":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ReadFile(path, &struct{}{}); !errors.Is(err, ErrUnsealed) {
		t.Errorf("an object without a checksum gave %v", err)
	}
}

// Objects of earlier versions have no checksum and no unknown members.
func TestVerifyOlderObjects(t *testing.T) {
	type known struct {
		A int `json:"a"`
	}
	for content, fine := range map[string]bool{
		`{"a": 1}` + "\n": true, `{"a": 1, "b": 2}`: false, `{"a": 1, "sha257": "00"}`: false, `{"a": 1}{`: false, "x": false,
	} {
		if err := Verify([]byte(content), &known{}); (err == nil) != fine {
			t.Errorf("%s: %v", content, err)
		}
	}
	sealed, err := Add([]byte(`{"a": 1}`))
	if err != nil || Verify(sealed, &known{}) != nil {
		t.Errorf("%s: %v", sealed, err)
	}
	if err := Verify(Renew(append([]byte(nil), sealed...)), &known{}); err != nil {
		t.Error(err)
	}
	sealed[6] = '2'
	if err := Verify(sealed, &known{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("an edited object: %v", err)
	}
	if err := Verify(Renew(sealed), &known{}); err != nil {
		t.Errorf("an edited object with a new checksum: %v", err)
	}
}
