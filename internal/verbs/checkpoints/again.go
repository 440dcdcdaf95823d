package checkpoints

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/shell"
)

// again is the command line of a call, for the hint of its refusal: the same
// once more, with the flag that goes past it.
type again struct {
	words  []string
	untold bool   // it has a path that no text can hold
	window string // the flags that name its window
}

// again is the command line that asks for y.
func (f found) again(y way) again {
	a := again{words: []string{"turnback " + y.command + " " + f.flags()}, window: f.flags()}
	if y.n > 0 {
		a.words = append(a.words, strconv.Itoa(y.n))
	}
	set := maps.Clone(y.flags)
	set["--dry-run"], set["--force"] = y.dryRun, y.force
	for _, flag := range slices.Sorted(maps.Keys(set)) {
		if set[flag] {
			a.words = append(a.words, flag)
		}
	}
	for _, p := range y.paths {
		a.words = append(a.words, "--path "+shell.Word(p))
		a.untold = a.untold || !utf8.ValidString(p)
	}
	return a
}

// with is the line with one flag more; empty: it cannot be told.
func (a again) with(flag string) string {
	if a.untold {
		return ""
	}
	return strings.Join(append(slices.Clone(a.words), flag), " ")
}

// refusal puts the command that goes past a refusal into its hint, where there is
// one and the error names none itself.
func (a again) refusal(err error) error {
	if err == nil {
		return nil
	}
	flag := override(err)
	e := api.AsError(toAPI(err))
	if h := e.Hint; h != nil && a.window != "" && isAboutWindow(h.Command) {
		named := *h
		named.Command += " " + a.window
		return e.WithHint(named)
	}
	if flag == "" || e.Hint != nil && e.Hint.Command != "" {
		return err
	}
	hint := api.Hint{}
	if e.Hint != nil {
		hint = *e.Hint
	}
	hint.Command = a.with(flag)
	return e.WithHint(hint)
}

// isAboutWindow tells whether a command of an error shows something of the window
// that was meant. Without its name another one may be taken.
func isAboutWindow(command string) bool {
	return strings.HasPrefix(command, "turnback checkpoint list") || strings.HasPrefix(command, "turnback checkpoint diff")
}

// override is the flag that goes past a refusal; empty: none does.
func override(err error) string {
	var ce *checkpoint.Error
	if errors.As(err, &ce) && len(ce.Flags) > 0 {
		return ce.Flags[0]
	}
	if api.AsError(err).Code == api.CodeNotReady {
		return "--force"
	}
	return ""
}
