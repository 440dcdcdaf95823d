package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what a person is shown of a change.
const (
	diffLines   = 80        // at most so many
	diffWide    = 200       // characters of one
	diffContext = 2         // lines around a change
	diffWork    = 1_000_000 // pairs of lines that are compared; beyond it a change is shown as a whole
)

// changeOf shows what becomes of a text, line by line: "-" goes, "+" comes, " " stays.
// What is cut says so.
func changeOf(before, after string) string {
	if before == after {
		return "nothing changes"
	}
	old, now := linesOf(before), linesOf(after)
	head := common(old, now)
	tail := common(backward(old[head:]), backward(now[head:]))
	d := differ{old: old, now: now}
	d.keep(max(0, head-diffContext), head)
	d.change(head, len(old)-tail, head, len(now)-tail)
	d.keep(len(old)-tail, min(len(old), len(old)-tail+diffContext))
	return strings.Join(d.bounded(), "\n")
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	return lines
}

func backward(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}

// common is how many lines two lists begin with alike.
func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differ gathers the lines to show.
type differ struct {
	old, now []string
	out      []string
}

func (d *differ) add(mark, line string) {
	text, ended := strings.CutSuffix(line, "\n")
	if n := utf8.RuneCountInString(text); n > diffWide {
		text = string([]rune(text)[:diffWide]) + fmt.Sprintf(" [cut: %d more characters]", n-diffWide)
	}
	if !ended {
		text += " [no line feed at its end]"
	}
	d.out = append(d.out, mark+text)
}

// keep shows old lines that stay.
func (d *differ) keep(from, to int) {
	for _, line := range d.old[from:to] {
		d.add("  ", line)
	}
}

// change shows old[a:b] and now[x:y], which begin and end in different lines.
func (d *differ) change(a, b, x, y int) {
	if (b-a)*(y-x) > diffWork {
		d.replace(a, b, x, y)
		return
	}
	// length[i][j] is how many lines old[a+i:b] and now[x+j:y] can have in common.
	length := make([][]int32, b-a+1)
	for i := range length {
		length[i] = make([]int32, y-x+1)
	}
	for i := b - a - 1; i >= 0; i-- {
		for j := y - x - 1; j >= 0; j-- {
			if d.old[a+i] == d.now[x+j] {
				length[i][j] = length[i+1][j+1] + 1
				continue
			}
			length[i][j] = max(length[i+1][j], length[i][j+1])
		}
	}
	i, j := 0, 0
	for i < b-a || j < y-x {
		same := 0
		for i+same < b-a && j+same < y-x && d.old[a+i+same] == d.now[x+j+same] {
			same++
		}
		if same > 0 {
			d.between(a+i, a+i+same)
			i, j = i+same, j+same
			continue
		}
		if j == y-x || i < b-a && length[i+1][j] >= length[i][j+1] {
			d.add("- ", d.old[a+i])
			i++
			continue
		}
		d.add("+ ", d.now[x+j])
		j++
	}
}

// between shows lines that stay between two changes, or their ends.
func (d *differ) between(from, to int) {
	if to-from <= 2*diffContext+1 {
		d.keep(from, to)
		return
	}
	d.keep(from, from+diffContext)
	d.out = append(d.out, fmt.Sprintf("  [%d lines stay]", to-from-2*diffContext))
	d.keep(to-diffContext, to)
}

// replace shows all old lines as going and all new ones as coming.
func (d *differ) replace(a, b, x, y int) {
	for _, line := range d.old[a:b] {
		d.add("- ", line)
	}
	for _, line := range d.now[x:y] {
		d.add("+ ", line)
	}
}

// bounded are the lines, as many as are shown. Of many the first and the last are.
func (d *differ) bounded() []string {
	if len(d.out) <= diffLines {
		return d.out
	}
	goes, comes := 0, 0
	hidden := d.out[diffLines/2 : len(d.out)-diffLines/2]
	for _, line := range hidden {
		switch line[0] {
		case '-':
			goes++
		case '+':
			comes++
		}
	}
	note := fmt.Sprintf("[cut: %d lines are not shown here, of which %d go and %d come]", len(hidden), goes, comes)
	return slices.Concat(d.out[:diffLines/2], []string{note}, d.out[len(d.out)-diffLines/2:])
}
