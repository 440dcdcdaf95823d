package checkpoints

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/turnback/turnback/checkpoint"
)

// maxNoted is how many changed files an agent is told by name.
const maxNoted = 50

// noteFor is what the agents in a work tree are told of a restore with their next
// prompt; empty: it changed no file.
func noteFor(action string, res checkpoint.RestoreResult) string {
	paths := slices.Concat(res.Written, res.Removed)
	if len(paths) == 0 || res.Staged {
		return ""
	}
	slices.Sort(paths)
	what := fmt.Sprintf("put files of the work tree back as checkpoint %d has them", res.N)
	switch action {
	case "undo":
		what = fmt.Sprintf("took back what turn %d changed", res.Turn)
	case "redo":
		what = fmt.Sprintf("put back what turn %d had changed", res.Turn)
	case "revert":
		what = fmt.Sprintf("took back what checkpoint %d had changed", res.N)
	case "abort":
		what = fmt.Sprintf("gave up a restore of checkpoint %d", res.N)
	}
	names := make([]string, 0, min(len(paths), maxNoted))
	for _, p := range paths[:min(len(paths), maxNoted)] {
		names = append(names, plainName(p))
	}
	list := strings.Join(names, ", ")
	if more := len(paths) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("turnback: since your last turn a restore %s. Changed on disk: %s. What you know of these files may not hold any more: read them again.", what, list)
}

// plainName is a path that cannot be taken for anything but a name.
func plainName(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == ',' }) {
		return strconv.Quote(path)
	}
	return path
}
