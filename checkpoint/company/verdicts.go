package company

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/whose"
)

// verdicts says whose the changes of a period are, as one pane sees it.
type verdicts struct {
	of    map[string]whose.Verdict // by path
	panes map[string]record.Pane   // by id
}

// theirs names the paths that are not, or may not be, this pane's or a person's.
func (v verdicts) theirs(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		owner := v.of[p].Owner
		return owner == whose.Mine || owner == whose.Persons
	})
}

func (v verdicts) having(paths []string, owner whose.Owner) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return v.of[p].Owner != owner })
}

// Describe names paths, with the panes whose they are or may be where that is not
// this one.
func (v verdicts) Describe(paths []string) string {
	const few = 5
	var words []string
	for _, p := range paths[:min(few, len(paths))] {
		var panes []string
		for _, id := range v.of[p].Panes {
			name := "pane " + id
			if pane := v.panes[id]; pane.Window != "" {
				name = fmt.Sprintf("%s of %s, %s", pane.Window, pane.Session, name)
			}
			panes = append(panes, name)
		}
		how := strings.Join(panes, "; ")
		if v.of[p].Owner == whose.Shared {
			how = "shared with " + how
		}
		word := strconv.Quote(p)
		if how != "" {
			word += " (" + how + ")"
		}
		words = append(words, word)
	}
	if len(paths) > few {
		words = append(words, fmt.Sprintf("and %d more", len(paths)-few))
	}
	return strings.Join(words, ", ")
}
