package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// Status writes the result of status.
func (f Format) Status(w io.Writer, r api.StatusResult) error {
	git := r.Git.Path + " (" + r.Git.Version + ")"
	if r.Git.Error != "" {
		git = "none: " + r.Git.Error
	}
	config := f.Name(r.Config)
	if r.ConfigError != "" {
		config += " (not used: " + screen.Line(r.ConfigError) + ")"
	}
	rows := [][]string{
		{"daemon:", "running, pid " + strconv.Itoa(r.PID) + ", since " + f.Taken(r.Started)},
		{"version:", screen.Line(r.Version)},
		{"socket:", f.Name(r.Socket)},
		{"git:", screen.Line(git)},
		{"config:", config},
		{"windows:", strconv.Itoa(r.Windows)},
		{"open turns:", strconv.Itoa(r.OpenTurns)},
		{"saving:", strconv.Itoa(r.Saving)},
		{"log:", f.Name(r.LogFile)},
		{"state:", f.Name(r.StateFile)},
	}
	if r.Uncollapsed != "" {
		rows = append(rows, []string{"not collapsed:", screen.Line(r.Uncollapsed)})
	}
	for _, warning := range r.Warnings {
		rows = append(rows, []string{"warning:", screen.Line(warning)})
	}
	return screen.Table(w, rows)
}

// Verbs writes the result of list-verbs.
func (f Format) Verbs(w io.Writer, r api.ListVerbsResult) error {
	rows := [][]string{{"VERB", "GRANT", "SUMMARY", "PARAMETERS"}}
	for _, v := range r.Verbs {
		rows = append(rows, []string{v.Name, dash(v.Grant), screen.Line(v.Summary), dash(parameters(v.Params))})
	}
	return screen.Table(w, rows)
}

// parameters lists names, those that may be left out in brackets. The many that
// say where a caller stands and which window it means are shown as one.
func parameters(fields []api.Field) string {
	var names []string
	for _, p := range fields {
		name := p.Name
		switch name {
		case "session":
			name = "PLACE"
		case "window", "dir", "pane_id", "terminal_keys", "ancestors":
			continue
		}
		if p.Optional {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// Event writes one event as one line.
func (f Format) Event(w io.Writer, e api.Event) error {
	words := []string{e.At.In(f.Now.Location()).Format(time.TimeOnly), screen.Line(e.Type)}
	if e.Pane != "" {
		words = append(words, f.ofPane(api.Pane{Session: e.Session, Pane: e.Pane}))
	}
	if e.Turn > 0 {
		words = append(words, fmt.Sprintf("turn %d", e.Turn))
	}
	if e.State != "" {
		words = append(words, screen.Line(e.State))
	}
	if e.Checkpoint != nil {
		words = append(words, fmt.Sprintf("checkpoint %d", e.Checkpoint.N))
	}
	if e.Count > 0 {
		words = append(words, fmt.Sprintf("%d events lost", e.Count))
	}
	if e.Reason != "" {
		words = append(words, screen.Line(e.Reason))
	}
	_, err := fmt.Fprintln(w, strings.Join(words, "  "))
	return err
}
