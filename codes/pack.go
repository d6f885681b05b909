package codes

// pack appends codes, one level after another in each row, to out. The codes
// have been checked against their vocabularies.
func pack(out []byte, codes []uint32, widths []int) []byte {
	var pending uint64 // bits not yet written, the next one lowest
	held := 0
	for row := 0; row < len(codes); row += len(widths) {
		for level, width := range widths {
			pending |= uint64(codes[row+level]) << held
			for held += width; held >= 8; held -= 8 {
				out = append(out, byte(pending))
				pending >>= 8
			}
		}
	}
	if held > 0 {
		out = append(out, byte(pending))
	}
	return out
}

// unpack fills codes from data, beginning at a bit; data has to reach far
// enough.
func unpack(codes []uint32, data []byte, firstBit int64, widths []int) {
	next := firstBit / 8
	var pending uint64
	held := 0
	if skip := int(firstBit % 8); skip > 0 {
		pending = uint64(data[next]) >> skip
		held = 8 - skip
		next++
	}
	for row := 0; row < len(codes); row += len(widths) {
		for level, width := range widths {
			for ; held < width; held += 8 {
				pending |= uint64(data[next]) << held
				next++
			}
			codes[row+level] = uint32(pending & (1<<width - 1))
			pending >>= width
			held -= width
		}
	}
}

func codeWidths(vocab []uint32) []int {
	widths := make([]int, len(vocab))
	for level, v := range vocab {
		widths[level] = codeBits(v)
	}
	return widths
}
