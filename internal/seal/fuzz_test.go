package seal

import "testing"

// FuzzCheck makes sure that content with a good checksum is refused after any change of its body.
func FuzzCheck(f *testing.F) {
	sealed, err := Add([]byte(`{"a": 1}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, 3)
	f.Add([]byte("{}"), 0)
	f.Fuzz(func(t *testing.T, content []byte, at int) {
		if Check(content) != nil || at < 0 || at >= len(content) {
			return
		}
		content[at] ^= 1
		if Check(content) == nil {
			t.Errorf("byte %d was changed unnoticed", at)
		}
	})
}
