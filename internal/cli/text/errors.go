package text

import (
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Error is a failure as a person reads it: the message, and what to do about
// it on a second line.
func (f Format) Error(e *api.Error) string {
	s := "turnback: " + screen.Line(e.Message) + "\n"
	if hint := f.hint(e.Hint); hint != "" {
		s += "hint: " + hint + "\n"
	}
	return s
}

func (f Format) hint(h *api.Hint) string {
	if h == nil {
		return ""
	}
	var parts []string
	if h.Detail != "" {
		parts = append(parts, screen.Line(h.Detail))
	}
	if h.DidYouMean != "" {
		parts = append(parts, "did you mean "+f.Name(h.DidYouMean)+"?")
	}
	if len(h.Accepted) > 0 {
		parts = append(parts, "accepted: "+f.paths(h.Accepted))
	}
	if len(h.Available) > 0 {
		parts = append(parts, "available: "+f.paths(h.Available))
	}
	if h.Command != "" {
		parts = append(parts, "run: "+screen.Line(h.Command))
	}
	return strings.Join(parts, "; ")
}

// Problem is one thing wrong with a file, with the values that it could have.
func Problem(what string, accepted []string) string {
	what = screen.Line(what)
	if len(accepted) > 0 {
		what += " (accepted: " + screen.Line(strings.Join(accepted, ", ")) + ")"
	}
	return what
}
