package tokenizer

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

func TestReadSpec(t *testing.T) {
	s, err := ReadSpec([]byte("seed: 9\nmodel: {dim: 7}\nquantizer: {method: ema, codes: 5}\ntrain: {steps: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := DefaultSpec("ema")
	want = want.Earlier()
	want.Model.Dim, want.Quantizer.Codes = 7, 5
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v", s)
	}
	if s, err := ReadSpec([]byte(`{"quantizer": {"method": "rq"}}`)); err != nil || s.Model.Dim != 0 || s.Model.Hidden != nil {
		t.Errorf("a classical method has a network: %+v, %v", s.Model, err)
	}
	for document, want := range map[string]string{
		"quantizer: {method: none}":             "unknown method",
		"quantizer: [":                          "cannot be read",
		"quantizer: {method: ema, codse: 5}":    `did you mean "quantizer.codes"`,
		"quantizer: {method: ema}\nmodel: text": "model",
	} {
		if _, err := ReadSpec([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", document, err, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	s, err := DefaultSpec("ema")
	if err != nil {
		t.Fatal(err)
	}
	s.Quantizer.Codes, s.Quantizer.Levels = 8, 3
	plain := s
	plain.Model.Dim, plain.Model.Hidden, plain.Quantizer.Levels, plain.Quantizer.Parts = 0, nil, 1, 2
	pictures := s
	pictures.Model.Image = Image{Size: 32, Widths: []int{8, 16}}
	names := func(m Modality) string { return m.Item() + " " + m.Tokens() + " " + string(m.Kind()) }
	for want, got := range map[string]string{
		"ema, 3 levels x 8 codes, network 5-512-256-128-32":                            s.Describe(5),
		"ema, 8 codes x 2 parts on the 5-d vectors themselves":                         plain.Describe(5),
		"ema, 3 levels x 8 codes, 32 px pictures to 16 x 16 codes, network 8-16 to 32": pictures.Describe(0),
		"row rows vectors":         names(s.Model.Modality()),
		"picture patches pictures": names(pictures.Model.Modality()),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Pictures are read, encoded, decoded and scored as vectors are.
func TestPictures(t *testing.T) {
	set, err := images.Open(t.Context(), "synthetic:scenes?images=20&size=16", images.Options{Size: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	c := Default()
	c.Dim, c.Image = 4, Image{Size: 16, Widths: []int{4, 4}, Blocks: 1, Up: "nearest", Precision: "f32"}
	q := quantizer(t, "ste", 1)
	q.Start.From = "random"
	tok, err := New(Spec{c, q}, set.Input())
	if err != nil {
		t.Fatal(err)
	}
	variables := tok.InitNetwork(3, Sample{})
	codes, err := tok.Quantizer.Init(vq.Latents{Rows: make([]float32, 8), N: 2, Dim: 4}, weights.Rand(1, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	r := runtime(t, tok, variables.Merge("quantizer", codes))
	rows := dataset.All(20)
	var all []uint32
	result, usage, err := r.Evaluate(t.Context(), set, rows, Options{}, func(b Coded) error {
		all = append(all, b.Codes...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	items, kept, err := set.Read([]int{0, 1, 2})
	if err != nil || len(kept) != 3 {
		t.Fatal(kept, err)
	}
	first, err := r.Encode(t.Context(), items, Options{})
	if err != nil || !slices.Equal(first, all[:len(first)]) || len(first) != 3*64*3 {
		t.Errorf("%d codes, %v", len(first), err)
	}
	decoded, err := r.Decode(t.Context(), first, 3, 3)
	if err != nil || decoded.N != 3 || len(decoded.Pixels) != len(items.Pixels) || decoded.Values != nil {
		t.Errorf("decoded %d pictures, %v", decoded.N, err)
	}
	s := result.(*PictureScores)
	tokens := uint64(0)
	for _, n := range usage.Histogram(0) {
		tokens += n
	}
	if math.Abs(s.BitsPerPixel-3*math.Log2(20)/4) > 1e-9 || s.Images != 20 || s.Damaged != 0 || tokens != 20*64 || !(s.PSNR > 0) {
		t.Errorf("%+v", s)
	}
	if x := tok.Tensor(items); !slices.Equal(x.Shape().Dimensions, []int{3, 16, 16, 3}) {
		t.Errorf("tensor of shape %v", x.Shape())
	}
	_, err = r.Encode(t.Context(), dataset.VectorBatch(make([]float32, 768), 1), Options{})
	if err == nil || err.Error() != "a tokenizer of pictures was given items of another kind" {
		t.Errorf("vectors gave %v", err)
	}
	if err := tok.Expect(dataset.Vectors); err == nil || err.Error() != "this is a tokenizer of pictures, not of vectors" {
		t.Errorf("got %v", err)
	}
	if _, err := New(Spec{c, q}, 5); err == nil || !strings.Contains(err.Error(), "have 768 numbers, not 5") {
		t.Errorf("got %v", err)
	}
	c.Image.Size = 10
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "model.image.size: 10 is less than 11") {
		t.Errorf("pictures that cannot be scored: %v", err)
	}
}
