package index

// rowLanes is the number of sums of a row kernel: lane l adds up the coordinates l,
// l+rowLanes, ... in order. All implementations round after each operation and reduce
// the lanes in one order: equal to the bit, so a graph is the same everywhere.
const rowLanes = 16

// rowKernel is one implementation of costs of chosen rows: rows is [n,stride], stride
// a multiple of rowLanes, query [stride]; the cost of row items[i] goes to out[i].
type rowKernel struct {
	name    string
	squared func(query, rows []float32, stride int, items []uint32, out []float32) // |x - c|^2
	negated func(query, rows []float32, stride int, items []uint32, out []float32) // -<x,c>
}

var portableRows = rowKernel{name: "portable", squared: squaredRowsPortable, negated: negatedRowsPortable}

var bestRows = supportedRows()[0]

func (k *rowKernel) costs(m Metric) func(query, rows []float32, stride int, items []uint32, out []float32) {
	if m == InnerProduct {
		return k.negated
	}
	return k.squared
}

func paddedTo(d int) int { return (d + rowLanes - 1) / rowLanes * rowLanes }

func squaredRowsPortable(query, rows []float32, stride int, items []uint32, out []float32) {
	for i, item := range items {
		row := rows[int(item)*stride : (int(item)+1)*stride]
		var lanes [rowLanes]float32
		for l := 0; l < rowLanes; l += 4 {
			var s0, s1, s2, s3 float32
			for j := l; j+4 <= len(row) && j+4 <= len(query); j += rowLanes {
				a, b := (*[4]float32)(query[j:]), (*[4]float32)(row[j:])
				d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
				// The conversions forbid fusing.
				s0 += float32(d0 * d0)
				s1 += float32(d1 * d1)
				s2 += float32(d2 * d2)
				s3 += float32(d3 * d3)
			}
			*(*[4]float32)(lanes[l:]) = [4]float32{s0, s1, s2, s3}
		}
		out[i] = addLanes(&lanes)
	}
}

func negatedRowsPortable(query, rows []float32, stride int, items []uint32, out []float32) {
	for i, item := range items {
		row := rows[int(item)*stride : (int(item)+1)*stride]
		var lanes [rowLanes]float32
		for l := 0; l < rowLanes; l += 4 {
			var s0, s1, s2, s3 float32
			for j := l; j+4 <= len(row) && j+4 <= len(query); j += rowLanes {
				a, b := (*[4]float32)(query[j:]), (*[4]float32)(row[j:])
				s0 += float32(a[0] * b[0])
				s1 += float32(a[1] * b[1])
				s2 += float32(a[2] * b[2])
				s3 += float32(a[3] * b[3])
			}
			*(*[4]float32)(lanes[l:]) = [4]float32{s0, s1, s2, s3}
		}
		out[i] = -addLanes(&lanes)
	}
}

// addLanes halves sixteen sums to eight, to four, and adds those in pairs.
func addLanes(s *[rowLanes]float32) float32 {
	var four [4]float32
	for l := range four {
		four[l] = (s[l] + s[l+8]) + (s[l+4] + s[l+12])
	}
	return (four[0] + four[1]) + (four[2] + four[3])
}
