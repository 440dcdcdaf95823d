package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	What  string `json:"what"`           // git, daemon, claude hooks, ...
	Level string `json:"level"`          // ok, note, warning, problem
	Text  string `json:"text"`           // one sentence, lower case, no full stop
	Hint  string `json:"hint,omitempty"` // what to do about it
}

// The levels of a finding. A problem makes doctor fail.
const (
	LevelOK      = "ok"
	LevelNote    = "note"
	LevelWarning = "warning"
	LevelProblem = "problem"
)

// findings is the result of doctor.
type findings struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

func newDoctor(d Deps) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why no checkpoints are taken",
		Long: `Look at everything that checkpoints depend on: git, the configuration, the
daemon, the work tree here, and whether the hooks of the agents are installed
and were ever seen to run. Nothing is changed.

Exit status: 0 no problem was found, 1 there is one.`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := findings{OK: true, Findings: d.diagnose(cmd.Context())}
			for _, f := range r.Findings {
				r.OK = r.OK && f.Level != LevelProblem
			}
			raw, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := present(cmd, d, o, raw, showFindings); err != nil {
				return err
			}
			if !r.OK {
				return silentFailure{api.CodeInternal.ExitStatus()}
			}
			return nil
		},
	}
	o.addTo(cmd)
	return cmd
}

func showFindings(w io.Writer, _ text.Format, r findings) error {
	var rows [][]string
	for _, f := range r.Findings {
		rows = append(rows, []string{f.Level, f.What, screen.Line(f.Text)})
		if f.Hint != "" {
			rows = append(rows, []string{"", "", "hint: " + screen.Line(f.Hint)})
		}
	}
	return screen.Table(w, rows)
}

func (d Deps) diagnose(ctx context.Context) []Finding {
	all := []Finding{d.checkGit(ctx), d.checkConfig(), d.checkDaemon(ctx), d.checkPlace(ctx)}
	if d.AgentChecks != nil {
		all = append(all, d.AgentChecks()...)
	}
	return all
}

func (d Deps) checkGit(ctx context.Context) Finding {
	f := Finding{What: "git"}
	g, err := d.Git(ctx)
	if err != nil {
		f.Level, f.Text = LevelProblem, err.Error()
		f.Hint = "install git " + g.Oldest + " or newer, or name it in the configuration: git = \"/path/to/git\""
		return f
	}
	f.Level, f.Text = LevelOK, g.Path+", version "+g.Version
	return f
}

func (d Deps) checkConfig() Finding {
	r, err := checkConfig(d)
	switch {
	case err != nil:
		return Finding{What: "config", Level: LevelProblem, Text: err.Error()}
	case !r.OK:
		return Finding{
			What: "config", Level: LevelProblem, Text: r.Path + " cannot be used: " + r.Problems[0].String(),
			Hint: "turnback config check tells all that is wrong",
		}
	}
	return Finding{What: "config", Level: LevelOK, Text: r.Path}
}

func (d Deps) checkDaemon(ctx context.Context) Finding {
	f := Finding{What: "daemon", Level: LevelOK}
	var r api.StatusResult
	if err := d.callInto(ctx, StartDaemon, "status", api.StatusParams{Version: d.Version.Version}, &r); err != nil {
		f.Level, f.Text, f.Hint = LevelProblem, err.Error(), "turnback daemon logs"
		return f
	}
	f.Text = fmt.Sprintf("pid %d, at %s", r.PID, r.Socket)
	switch {
	case r.Git.Error != "":
		f.Level, f.Text = LevelProblem, "the daemon has no git: "+r.Git.Error
		f.Hint = "turnback daemon stop; the next command starts it with your PATH"
	case len(r.Warnings) > 0:
		f.Level, f.Text = LevelWarning, strings.Join(r.Warnings, "; ")
	}
	return f
}

// checkPlace asks for the checkpoints of the current directory, which tells
// whether any can be taken here.
func (d Deps) checkPlace(ctx context.Context) Finding {
	f := Finding{What: "work tree", Level: LevelNote}
	place, err := d.place(target{}, "")
	if err != nil {
		f.Text = err.Error()
		return f
	}
	var r api.ListCheckpointsResult
	err = d.callInto(ctx, StartDaemon, "list-checkpoints", api.ListCheckpointsParams{Place: place, All: true}, &r)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeNotRepo {
		f.Text = place.Dir + " is in no git work tree, so no checkpoints are taken here"
		return f
	}
	switch {
	case err != nil:
		f.Text = err.Error()
	case r.Interrupted != "":
		f.Level, f.Text, f.Hint = LevelProblem, r.Interrupted, "turnback checkpoint restore --continue or --abort"
	case r.Notice != "":
		f.Text = "no checkpoints here: " + r.Notice
	case !r.Enabled:
		f.Level, f.Text = LevelWarning, "checkpoints are off: enabled = false in [agents.checkpoints]"
	default:
		f.Level, f.Text = LevelOK, fmt.Sprintf("%s, checkpoints: %d", r.Worktree, len(r.Checkpoints))
	}
	return f
}
