package text

import (
	"io"
	"slices"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Filters writes the filters of a work tree, one row for each program.
func (f Format) Filters(w io.Writer, r api.FiltersResult) error {
	var l lines
	if len(r.Filters) == 0 {
		l.addf("No filter is defined for %s.", f.Name(r.Worktree))
		return l.writeTo(w)
	}
	f.filterTable(&l, r)
	if slices.ContainsFunc(r.Filters, func(x api.Filter) bool { return !x.Runs }) {
		l.addf("Files behind a filter that may not run are not saved once they change. To let it run: turnback trust")
	}
	return l.writeTo(w)
}

// FilterPrograms writes the filters alone.
func (f Format) FilterPrograms(w io.Writer, r api.FiltersResult) error {
	var l lines
	f.filterTable(&l, r)
	return l.writeTo(w)
}

func (f Format) filterTable(l *lines, r api.FiltersResult) {
	l.addf("Filters for %s:", f.Name(r.Worktree))
	l.table(filterRows(r.Filters))
}

func filterRows(list []api.Filter) [][]string {
	rows := [][]string{{"NAME", "SET IN", "RUNS", "PROGRAM", ""}}
	for _, x := range list {
		head := []string{screen.Line(x.Name), screen.Line(x.Scope), leave(x)}
		for _, program := range [][]string{{"process", x.Process}, {"clean", x.Clean}, {"smudge", x.Smudge}} {
			if program[1] != "" {
				rows = append(rows, append(head, program[0], screen.Line(program[1])))
				head = []string{"", "", ""}
			}
		}
	}
	return rows
}

func leave(x api.Filter) string {
	switch {
	case x.Trusted:
		return "trusted"
	case x.Runs:
		return "yes"
	}
	return "no"
}
