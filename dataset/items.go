package dataset

// Batch holds vectors or pictures.
type Batch struct {
	N      int
	Values []float32 // of vectors [N, dim]
	Pixels []uint8   // of pictures [N, size, size, 3]
}

// VectorBatch is a batch of n vectors.
func VectorBatch(values []float32, n int) Batch { return Batch{N: n, Values: values} }

// PictureBatch is a batch of n pictures.
func PictureBatch(pixels []uint8, n int) Batch { return Batch{N: n, Pixels: pixels} }

// Set hands out items by row. All methods are safe for concurrent use.
type Set interface {
	Path() string
	Len() int
	// Input is the number of values of an item.
	Input() int
	// Read returns items as they are encoded and evaluated. Rows that are damaged
	// are left out; kept lists the others.
	Read(rows []int) (items Batch, kept []int, err error)
	// Draw returns an item for every row as it is trained on, such as a random
	// crop: a pure function of rows, seed and step.
	Draw(rows []int, seed uint64, step int64) (Batch, error)
	Fingerprint() (string, error)
	Close() error
}
