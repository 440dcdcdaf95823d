package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
	"github.com/turnback/turnback/internal/cli/text"
)

// findings is the result of doctor.
type findings struct {
	OK       bool              `json:"ok"`
	Findings []command.Finding `json:"findings"`
}

func newDoctor(d command.Deps) *cobra.Command {
	var o command.Output
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what keeps checkpoints from working",
		Long: `Look at everything that checkpoints depend on: git, the configuration, the
daemon, the work tree here and its checkpoints, and whether the hooks of the
agents are installed and were ever seen to run. Nothing is changed.

Exit status: 0 no problem was found, 1 there is one.`,
		Args: command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := findings{OK: true, Findings: doctor{d}.diagnose(cmd.Context())}
			for _, f := range r.Findings {
				r.OK = r.OK && f.Level != command.LevelProblem
			}
			raw, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := command.Present(cmd, d, o, raw, showFindings); err != nil {
				return err
			}
			if !r.OK {
				return command.SilentFailure{Status: api.CodeInternal.ExitStatus()}
			}
			return nil
		},
	}
	o.AddTo(cmd)
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

// doctor looks at what checkpoints depend on.
type doctor struct{ command.Deps }

func (d doctor) diagnose(ctx context.Context) []command.Finding {
	all := []command.Finding{d.checkGit(ctx), d.checkConfig(), d.checkDaemon(ctx), d.checkPlace(ctx)}
	all = append(all, d.checkCheckpoints(ctx)...)
	if d.AgentChecks != nil {
		all = append(all, d.AgentChecks()...)
	}
	return append(all, d.checkConversations(ctx)...)
}

// checkConversations tells, of each agent, why a request went out uncollapsed
// last.
func (d doctor) checkConversations(ctx context.Context) []command.Finding {
	var r api.ConversationListResult
	if d.CallInto(ctx, command.DialOnly, "conversation-list", api.ConversationListParams{}, &r) != nil {
		return nil // checkDaemon tells that there is none
	}
	var list []command.Finding
	told := map[string]bool{}
	for _, s := range r.Sessions {
		if s.Reason == "" || told[s.Agent] {
			continue
		}
		told[s.Agent] = true
		list = append(list, command.Finding{
			What: "conversations", Level: command.LevelNote, Hint: "turnback conversation show " + s.Session,
			Text: fmt.Sprintf("a request of %s, session %s, went out as it came: %s", s.Agent, s.Session, s.Reason),
		})
	}
	return list
}

func (d doctor) checkGit(ctx context.Context) command.Finding {
	f := command.Finding{What: "git"}
	g, err := d.Git(ctx)
	if err != nil {
		f.Level, f.Text = command.LevelProblem, err.Error()
		f.Hint = "install git " + g.Oldest + " or newer, or name it in the configuration: git = \"/path/to/git\""
		return f
	}
	f.Level, f.Text = command.LevelOK, g.Path+", version "+g.Version
	return f
}

func (d doctor) checkConfig() command.Finding {
	r, err := checkConfig(d.Deps)
	switch {
	case err != nil:
		return command.Finding{What: "config", Level: command.LevelProblem, Text: err.Error()}
	case !r.OK:
		return command.Finding{
			What: "config", Level: command.LevelProblem, Text: r.Path + " cannot be used: " + r.Problems[0].String(),
			Hint: "turnback config check tells all that is wrong",
		}
	}
	return command.Finding{What: "config", Level: command.LevelOK, Text: r.Path}
}

func (d doctor) checkDaemon(ctx context.Context) command.Finding {
	f := command.Finding{What: "daemon", Level: command.LevelOK}
	var r api.StatusResult
	if err := d.CallInto(ctx, command.StartDaemon, "status", api.StatusParams{Version: d.Version.Version}, &r); err != nil {
		f.Level, f.Text, f.Hint = command.LevelProblem, err.Error(), "turnback daemon logs"
		return f
	}
	f.Text = fmt.Sprintf("pid %d, at %s", r.PID, r.Socket)
	switch {
	case r.Git.Error != "":
		f.Level, f.Text = command.LevelProblem, "the daemon has no git: "+r.Git.Error
		f.Hint = "turnback daemon stop; the next command starts it with your PATH"
	case len(r.Warnings) > 0:
		f.Level, f.Text = command.LevelWarning, strings.Join(r.Warnings, "; ")
	}
	return f
}

// checkCheckpoints asks whether the checkpoints of this repository can be had.
// Outside of one there is nothing to tell.
func (d doctor) checkCheckpoints(ctx context.Context) []command.Finding {
	place, err := d.Place(command.Target{}, "")
	if err != nil {
		return nil
	}
	var r api.VerifyCheckpointsResult
	if err := d.CallInto(ctx, command.StartDaemon, "verify-checkpoints", api.VerifyCheckpointsParams{Place: place}, &r); err != nil {
		if e := api.AsError(err); e.Code == api.CodeNotRepo || e.Code == api.CodeNoDaemon {
			return nil
		}
		return []command.Finding{{What: "checkpoints", Level: command.LevelProblem, Text: "they cannot be looked at: " + err.Error()}}
	}
	var list []command.Finding
	for _, x := range r.Findings {
		list = append(list, checkpointFinding(x))
	}
	if len(list) == 0 {
		list = append(list, command.Finding{What: "checkpoints", Level: command.LevelOK, Text: "all can be had"})
	}
	return list
}

func checkpointFinding(x api.VerifyFinding) command.Finding {
	levels := map[string]string{"broken": command.LevelProblem, "damaged": command.LevelProblem, "leftover": command.LevelWarning}
	f := command.Finding{What: "checkpoints", Level: cmp.Or(levels[x.Severity], command.LevelNote), Text: x.What, Hint: x.Command}
	switch {
	case x.N > 0:
		f.Text = fmt.Sprintf("checkpoint %d of pane %s: %s", x.N, x.Pane, x.What)
	case x.Ref != "" || x.File != "":
		f.Text = cmp.Or(x.Ref, x.File) + ": " + x.What
	}
	if x.Mend != "" {
		f.Hint = "turnback checkpoint verify --mend"
	}
	return f
}

// checkPlace asks for the checkpoints of the current directory, which tells
// whether any can be taken here.
func (d doctor) checkPlace(ctx context.Context) command.Finding {
	f := command.Finding{What: "work tree", Level: command.LevelNote}
	place, err := d.Place(command.Target{}, "")
	if err != nil {
		f.Text = err.Error()
		return f
	}
	var r api.ListCheckpointsResult
	err = d.CallInto(ctx, command.StartDaemon, "list-checkpoints", api.ListCheckpointsParams{Place: place, All: true}, &r)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeNotRepo {
		f.Text = place.Dir + " is in no git work tree, so no checkpoints are taken here"
		return f
	}
	switch {
	case err != nil:
		f.Text = err.Error()
	case r.Interrupted != "":
		f.Level, f.Text, f.Hint = command.LevelProblem, r.Interrupted, "turnback checkpoint restore --continue or --abort"
	case r.Notice != "":
		f.Text = "no checkpoints here: " + r.Notice
	case !r.Enabled:
		f.Level, f.Text = command.LevelWarning, "checkpoints are off: enabled = false in [agents.checkpoints]"
	default:
		f.Level, f.Text = command.LevelOK, fmt.Sprintf("%s, checkpoints: %d", r.Worktree, len(r.Checkpoints))
	}
	return f
}
