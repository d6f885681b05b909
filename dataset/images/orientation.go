package images

import (
	"bytes"
	"encoding/binary"
)

// upright is the EXIF orientation of a picture stored the way it is seen.
const upright = 1

// orientation returns the EXIF orientation of a JPEG, 1 to 8, or 1 (upright) if
// it cannot be read.
func orientation(jpeg []byte) int {
	rest := jpeg[min(2, len(jpeg)):] // after the start marker
	for len(rest) >= 4 && rest[0] == 0xff {
		marker, length := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
		if marker == 0xff { // a fill byte
			rest = rest[1:]
			continue
		}
		if marker == 0xda || length < 2 || len(rest) < 2+length { // the scan begins, or nonsense
			break
		}
		if tiff, ok := bytes.CutPrefix(rest[4:2+length], []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return tiffOrientation(tiff)
		}
		rest = rest[2+length:]
	}
	return upright
}

// tiffOrientation looks for tag 0x0112 in the first directory of a TIFF header.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	start := int64(order.Uint32(tiff[4:]))
	if start+2 > int64(len(tiff)) {
		return upright
	}
	count := int(order.Uint16(tiff[start:]))
	entries := tiff[start+2:]
	for ; count > 0 && len(entries) >= 12; count, entries = count-1, entries[12:] {
		if order.Uint16(entries) == 0x0112 {
			if value := int(order.Uint16(entries[8:])); value >= 1 && value <= 8 {
				return value
			}
			break
		}
	}
	return upright
}

// flips are the mirrored axes of every EXIF orientation; from 5 on the axes are
// exchanged too.
var flips = [9]struct{ x, y bool }{2: {x: true}, 3: {true, true}, 4: {y: true}, 6: {y: true}, 7: {true, true}, 8: {x: true}}

// turn returns p upright, given its EXIF orientation.
func turn(p *RGB, orientation int) *RGB {
	if orientation == upright {
		return p
	}
	right, bottom := p.Width-1, p.Height-1
	width, height := p.Width, p.Height
	if orientation >= 5 {
		width, height = height, width
	}
	turned := NewRGB(width, height)
	for y := range height {
		for x := range width {
			fromX, fromY := x, y
			if orientation >= 5 {
				fromX, fromY = y, x
			}
			if flips[orientation].x {
				fromX = right - fromX
			}
			if flips[orientation].y {
				fromY = bottom - fromY
			}
			copy(turned.Pix[(y*width+x)*3:][:3], p.Pix[(fromY*p.Width+fromX)*3:])
		}
	}
	return turned
}
