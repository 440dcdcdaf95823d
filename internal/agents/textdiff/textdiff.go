// Package textdiff shows the difference of two short texts line by line.
package textdiff

import (
	"fmt"
	"strings"
)

// context is the number of equal lines around a change.
const context = 3

// line is a line of the difference: ' ', '-' or '+', and its text.
type line struct {
	mark byte
	text string
}

// Unified returns the unified diff of two texts under the names oldName and
// newName, or an empty text when they are equal. Its cost grows with the product
// of the lines that differ; it is meant for settings files.
func Unified(oldName, newName, oldText, newText string) string {
	lines := compare(split(oldText), split(newText))
	var b strings.Builder
	oldAt, newAt := 1, 1
	for i := 0; i < len(lines); {
		if lines[i].mark == ' ' {
			oldAt, newAt, i = oldAt+1, newAt+1, i+1
			continue
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
		}
		from, to := max(0, i-context), hunkEnd(lines, i)
		lead := i - from
		writeHunk(&b, lines[from:to], oldAt-lead, newAt-lead)
		for ; i < to; i++ {
			if lines[i].mark != '+' {
				oldAt++
			}
			if lines[i].mark != '-' {
				newAt++
			}
		}
	}
	return b.String()
}

// hunkEnd is the end of the hunk whose first change is at i: the first place
// with enough equal lines behind the last change.
func hunkEnd(lines []line, i int) int {
	equal := 0
	for ; i < len(lines); i++ {
		if lines[i].mark != ' ' {
			equal = 0
			continue
		}
		// Two contexts that would touch make one hunk.
		if equal++; equal > 2*context {
			return i + 1 - equal + context
		}
	}
	return len(lines) - max(0, equal-context)
}

func writeHunk(b *strings.Builder, lines []line, oldAt, newAt int) {
	oldCount, newCount := 0, 0
	for _, l := range lines {
		if l.mark != '+' {
			oldCount++
		}
		if l.mark != '-' {
			newCount++
		}
	}
	if oldCount == 0 {
		oldAt--
	}
	if newCount == 0 {
		newAt--
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldAt, oldCount, newAt, newCount)
	for _, l := range lines {
		b.WriteByte(l.mark)
		b.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// compare lines up two lists by their longest common subsequence.
func compare(a, b []string) []line {
	var head, tail []line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, line{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]line{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, middle(a, b)...), tail...)
}

func middle(a, b []string) []line {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, line{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, line{'-', a[i]})
			i++
		default:
			lines = append(lines, line{'+', b[j]})
			j++
		}
	}
	return lines
}
