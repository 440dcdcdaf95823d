package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/agents/codex"
	"github.com/turnback/turnback/internal/agents/hookstate"
	"github.com/turnback/turnback/internal/agents/settingsfile"
	"github.com/turnback/turnback/internal/agents/textdiff"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

// setupAttempts is how often a change is tried when the agent changes its
// settings at the same time.
const setupAttempts = 3

// SetupDeps is what the setup command, and doctor for its part, need from
// outside.
type SetupDeps struct {
	Streams    screen.Streams
	Getenv     func(string) string
	Dir        func() (string, error) // the working directory, absolute
	Executable func() (string, error) // this program, absolute
	Now        func() time.Time
	StateDir   string // $XDG_STATE_HOME/turnback
}

// setupOptions are the flags of setup.
type setupOptions struct {
	command.Output
	project, remove, dryRun, yes, conversation bool
}

// setupResult is the result of setup.
type setupResult struct {
	Agent   string `json:"agent"`
	Action  string `json:"action"` // install, remove
	Path    string `json:"path"`   // the settings file
	Changed bool   `json:"changed"`
	DryRun  bool   `json:"dry_run"`
	Command string `json:"command"` // the program that the hooks run
	Backup  string `json:"backup"`  // the text from before; empty: there was no file, or nothing changed
	Diff    string `json:"diff"`
	// ServerPath is the file of the agent's MCP servers, where that is part of it;
	// ServerBackup as Backup.
	ServerPath   string `json:"server_path,omitempty"`
	ServerBackup string `json:"server_backup,omitempty"`
}

// NewSetupCommand makes `turnback setup AGENT`.
func NewSetupCommand(d SetupDeps) *cobra.Command {
	var o setupOptions
	cmd := &cobra.Command{
		Use:   "setup AGENT",
		Short: "Let an agent report its turns to turnback",
		Long: `Write turnback's hooks into the settings of AGENT, so that the agent reports when
a turn begins and ends. Agents: claude (Claude Code).

Everything else in the file stays as it is, its order and layout included. The
hooks name this program by its full path; when the program has moved, run setup
again. --remove takes the hooks out; where nothing else changed, the file is then
byte for byte what it was. The text from before is kept as a backup in
$XDG_STATE_HOME/turnback/backup.

For claude the file is ~/.claude/settings.json (in CLAUDE_CONFIG_DIR, if that is
set), or with --project .claude/settings.json at the root of the work tree, which
others who use the repository get too.

--conversation also lets models mark and rewind their conversation: it registers
turnback's MCP server in ~/.claude.json as claude mcp add does, and lets the
agent call its two tools, checkpoint and rewind, without asking. --remove takes
all of it out, hooks, server and leave, with --conversation or without it.

In a terminal the change is shown and you are asked; without a terminal, with
--yes or with --json, it is made at once. A file that does not parse is not
touched.

Exit status: 0 done, or nothing to do; 1 the file cannot be used; 2 wrong usage.`,
		Example: `  turnback setup claude
  turnback setup claude --dry-run     # show the change only
  turnback setup claude --conversation
  turnback setup claude --remove --yes`,
		Args:      command.ExactArgs("AGENT"),
		ValidArgs: []string{claude.Name},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != claude.Name {
				return unknownAgent(args[0])
			}
			return d.runSetup(cmd, o)
		},
	}
	cmd.Flags().BoolVar(&o.project, "project", false, "use the settings of the work tree here, not your own")
	cmd.Flags().BoolVar(&o.conversation, "conversation", false, "offer checkpoint and rewind of the conversation too")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "take everything out")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the change and make none")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	o.AddTo(cmd)
	return cmd
}

func unknownAgent(name string) error {
	return api.Errorf(api.CodeInvalidParams, "there is no agent %q to set up", name).
		WithHint(api.Hint{Param: "agent", Accepted: []string{claude.Name}})
}

// runSetup plans the change, shows it, asks, and makes it.
func (d SetupDeps) runSetup(cmd *cobra.Command, o setupOptions) error {
	if o.project && o.conversation {
		return api.Errorf(api.CodeInvalidParams, "--conversation goes into your own settings, not into a project's").
			WithHint(api.Hint{Param: "project", Detail: "leave --project out"})
	}
	s, err := d.claudeSetup(o)
	if err != nil {
		return err
	}
	asks := d.Streams.InTerminal && d.Streams.OutTerminal && !o.yes && !o.JSON && !o.dryRun
	for attempt := 1; ; attempt++ {
		change, r, err := s.plan(o)
		if err != nil {
			return setupError(err, s.fault(err))
		}
		if !r.Changed || o.dryRun {
			return d.showSetup(o, r)
		}
		if asks {
			agreed, err := d.ask(r)
			if err != nil || !agreed {
				return err
			}
		}
		switch err = s.apply(change, o); {
		case err == nil:
			return d.showSetup(o, r)
		case !errors.Is(err, settingsfile.ErrChanged) || asks || attempt == setupAttempts:
			return setupError(err, s.fault(err))
		}
	}
}

// claudeFiles are the files that setup changes.
type claudeFiles struct {
	hooks  claude.Setup
	server *claude.ServerSetup // nil: it is not about the server
}

// fault is the file that an error is about.
func (s claudeFiles) fault(err error) string {
	if s.server != nil && strings.HasPrefix(err.Error(), s.server.File.Path+" ") {
		return s.server.File.Path
	}
	return s.hooks.File.Path
}

// change is what is to be done to them.
type change struct{ hooks, server settingsfile.Plan }

func (s claudeFiles) plan(o setupOptions) (change, setupResult, error) {
	r := setupResult{Agent: claude.Name, Action: "install", Path: s.hooks.File.Path, DryRun: o.dryRun, Command: s.hooks.Command}
	var c change
	hooks, server := s.hooks.PlanInstall, claude.ServerSetup.PlanInstall
	if o.remove {
		r.Action = "remove"
		hooks, server = s.hooks.PlanRemove, claude.ServerSetup.PlanRemove
	}
	var err error
	if c.hooks, err = hooks(); err != nil {
		return c, r, err
	}
	r.Backup, r.Diff = planned(c.hooks, o)
	r.Changed = c.hooks.Changed()
	if s.server == nil {
		return c, r, nil
	}
	if c.server, err = server(*s.server); err != nil {
		return c, r, err
	}
	backup, diff := planned(c.server, o)
	if r.ServerPath = s.server.File.Path; !o.conversation && !c.server.Changed() {
		r.ServerPath = "" // there is nothing in it, and nobody asked for it
	}
	r.ServerBackup, r.Diff, r.Changed = backup, r.Diff+diff, r.Changed || c.server.Changed()
	return c, r, nil
}

// planned tells where the text from before will be, and the difference.
func planned(plan settingsfile.Plan, o setupOptions) (backup, diff string) {
	if !plan.Changed() {
		return "", ""
	}
	oldName, newName := plan.Target, plan.Target
	if !plan.Existed {
		oldName = os.DevNull
	} else if !o.dryRun {
		backup = plan.Backup()
	}
	after := string(plan.New)
	if plan.Delete {
		newName, after = os.DevNull, ""
	}
	return backup, textdiff.Unified(oldName, newName, string(plan.Old), after)
}

// apply makes the change: hooks are there before the tools that need them, and
// as long.
func (s claudeFiles) apply(c change, o setupOptions) error {
	hooks, server := s.hooks.ApplyInstall, claude.ServerSetup.ApplyInstall
	if o.remove {
		hooks, server = s.hooks.ApplyRemove, claude.ServerSetup.ApplyRemove
	}
	var steps []func() error
	if c.hooks.Changed() {
		steps = append(steps, func() error { return hooks(c.hooks) })
	}
	if s.server != nil && c.server.Changed() {
		steps = append(steps, func() error { return server(*s.server, c.server) })
	}
	if o.remove {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// setupError gives an error about the settings its hint.
func setupError(err error, path string) error {
	switch {
	case errors.Is(err, claude.ErrSettings):
		hint := api.Hint{Detail: "nothing was changed; put " + path + " in order, then run setup again"}
		return api.Errorf(api.CodeInternal, "%v", err).WithHint(hint)
	case errors.Is(err, settingsfile.ErrChanged):
		return api.Errorf(api.CodeInternal, "%s: %v", path, err).WithHint(api.Hint{Detail: "nothing was changed; run setup again"})
	}
	return err
}

// ask shows the change and waits for an answer; anything but yes means no.
func (d SetupDeps) ask(r setupResult) (bool, error) {
	agreed, err := screen.Confirm(d.Streams, r.Diff+"\nChange "+screen.Line(r.Path)+"?")
	if err != nil || agreed {
		return agreed, err
	}
	_, err = fmt.Fprintln(d.Streams.Out, "Nothing was changed.")
	return false, err
}

func (d SetupDeps) showSetup(o setupOptions, r setupResult) error {
	if o.JSON {
		return command.WriteJSON(d.Streams.Out, r)
	}
	path := screen.Line(r.Path)
	var text string
	switch {
	case !r.Changed && r.Action == "remove":
		text = path + " has no hooks of turnback.\n"
	case !r.Changed:
		text = "The hooks are in " + path + " already.\n"
	case r.DryRun:
		text = r.Diff + "Nothing was changed: this was a dry run.\n"
	case r.Action == "remove":
		text = "Removed the hooks from " + path + ".\n"
	default:
		text = "Installed the hooks in " + path + ".\n" +
			"Claude Code uses them from its next turn on. To see whether they run: turnback doctor\n"
	}
	if r.ServerPath != "" && r.Changed && !r.DryRun {
		verb := "Registered the MCP server in "
		if r.Action == "remove" {
			verb = "Took the MCP server out of "
		}
		text += verb + screen.Line(r.ServerPath) + ".\n"
	}
	for _, backup := range []string{r.Backup, r.ServerBackup} {
		if backup != "" {
			text += "The text from before is in " + screen.Line(backup) + "\n"
		}
	}
	_, err := io.WriteString(d.Streams.Out, text)
	return err
}

// claudeSetup finds the files and the path to install.
func (d SetupDeps) claudeSetup(o setupOptions) (claudeFiles, error) {
	if d.StateDir == "" {
		return claudeFiles{}, api.Errorf(api.CodeInternal, "there is no place for state").
			WithHint(api.Hint{Detail: "set HOME or XDG_STATE_HOME"})
	}
	command, err := d.command()
	if err != nil {
		return claudeFiles{}, err
	}
	if !o.remove && !o.dryRun && isTemporaryBuild(command) {
		return claudeFiles{}, api.Errorf(api.CodeInternal, "this program is a temporary build, which hooks could not find again").
			WithHint(api.Hint{Command: "go install ./cmd/turnback", Detail: "then run setup with the installed program"})
	}
	file := settingsfile.File{Agent: claude.Name, StateDir: d.StateDir}
	if file.Path, file.Mode, err = d.settings(o.project); err != nil {
		return claudeFiles{}, err
	}
	files := claudeFiles{hooks: claude.Setup{File: file, Command: command, Conversation: o.conversation}}
	if o.conversation || o.remove && !o.project {
		server := claude.ServerSetup{File: file, Command: command}
		if server.File.Path, err = claude.Servers(d.Getenv); err != nil {
			return claudeFiles{}, err
		}
		files.server = &server
	}
	return files, nil
}

// settings is the settings file, and the mode that a new one gets.
func (d SetupDeps) settings(project bool) (string, os.FileMode, error) {
	if !project {
		path, err := claude.UserSettings(d.Getenv)
		if err != nil {
			hint := api.Hint{Detail: "set HOME, or CLAUDE_CONFIG_DIR to an absolute path"}
			return "", 0, api.Errorf(api.CodeInternal, "%v", err).WithHint(hint)
		}
		return path, 0o600, nil
	}
	root, inWorktree, err := d.root()
	if err != nil {
		return "", 0, err
	}
	if !inWorktree {
		hint := api.Hint{Detail: "go to the work tree, or leave --project out to use your own settings"}
		return "", 0, api.Errorf(api.CodeNotRepo, "%s is not in a git work tree", root).WithHint(hint)
	}
	return claude.ProjectSettings(root), 0o644, nil
}

// command is the path of this program as hooks should call it: the place in
// PATH that leads to it, which stays the same over upgrades, else the program
// itself.
func (d SetupDeps) command() (string, error) {
	exe, err := d.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, dir := range filepath.SplitList(d.Getenv("PATH")) {
		path := filepath.Join(dir, "turnback")
		if found, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && os.SameFile(info, found) {
			return path, nil
		}
	}
	return filepath.Clean(exe), nil
}

// isTemporaryBuild knows what `go run` makes and removes again.
func isTemporaryBuild(path string) bool {
	return strings.Contains(filepath.ToSlash(path), "/go-build")
}

// root is the root of the work tree here, or the directory itself and false
// outside of one. The agent reads the project settings of the directory it is
// started in.
func (d SetupDeps) root() (string, bool, error) {
	here, err := d.Dir()
	if err != nil {
		return "", false, fmt.Errorf("find the working directory: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true, nil
		}
		if dir == filepath.Dir(dir) {
			return here, false, nil
		}
	}
}

// ClaudeFindings is what doctor finds out about the hooks of Claude Code.
func (d SetupDeps) ClaudeFindings() []command.Finding {
	c := claude.Check{Now: d.Now()}
	var err error
	if c.Command, err = d.command(); err != nil {
		return []command.Finding{{What: "claude", Level: command.LevelProblem, Text: err.Error()}}
	}
	var list []command.Finding
	if path, err := claude.UserSettings(d.Getenv); err != nil {
		list = append(list, command.Finding{What: "claude", Level: command.LevelWarning, Text: err.Error()})
	} else {
		c.Settings = append(c.Settings, path)
	}
	if root, _, err := d.root(); err == nil {
		c.Settings = append(c.Settings, claude.ProjectSettings(root), claude.LocalSettings(root))
	}
	if path, err := claude.Servers(d.Getenv); err == nil {
		c.Servers = path
	}
	c.LastSeen, c.Seen = hookstate.Dir(d.StateDir).LastSeen(claude.Name)
	for _, f := range c.Findings() {
		list = append(list, command.Finding{What: "claude", Level: f.Level, Text: f.Text, Hint: f.Hint})
	}
	return list
}

// HookAdapters are the agents whose hooks are known, by name.
func HookAdapters() map[string]HookAdapter {
	return map[string]HookAdapter{claude.Name: claude.New(), codex.Name: codex.Adapter{}}
}
