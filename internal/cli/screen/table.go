package screen

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table writes rows in columns as wide as their widest cell, two spaces apart,
// without blanks at the ends of lines. Rows may have different lengths.
func Table(w io.Writer, rows [][]string) error {
	widths := columnWidths(rows)
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-Width(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	return widths
}

// Width is the number of terminal cells that a text takes: two for the wide
// East Asian characters and emoji, none for combining marks.
func Width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < 0x300:
			n++
		case zeroWidth(r):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func zeroWidth(r rune) bool {
	return r <= 0x36f || r >= 0x1ab0 && r <= 0x1aff || r >= 0x20d0 && r <= 0x20ff ||
		r >= 0xfe00 && r <= 0xfe0f || r >= 0xfe20 && r <= 0xfe2f || r == 0x200b || r == 0x200d
}

func wide(r rune) bool {
	switch {
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0x33ff,
		r >= 0x3400 && r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xa000 && r <= 0xa4cf,
		r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe4f,
		r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return true
	}
	return false
}

// Cut shortens a text to at most width cells, with "..." where it was cut.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	for s != "" && Width(s)+3 > width {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + "..."
}
