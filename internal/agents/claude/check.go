package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Finding is something that a person who wonders about the hooks should know.
type Finding struct {
	Level string // ok, note, warning, problem
	Text  string // one sentence, lower case, no full stop
	Hint  string // what to do; may be empty
}

// The levels of a finding.
const (
	ok      = "ok"
	note    = "note"
	warning = "warning"
	problem = "problem"
)

// Check is what Findings looks at.
type Check struct {
	Settings []string // paths of the settings files that count here, the person's own first
	Command  string   // turnback's program that runs now, absolute
	LastSeen time.Time
	Seen     bool // a hook was seen to run, at LastSeen
	Now      time.Time
	Servers  string // path of the agent's file of MCP servers; empty: not looked at
}

const setupHint = "turnback setup claude"

// Findings tells whether the hooks are installed, can run, and have run. It
// changes nothing.
func (c Check) Findings() []Finding {
	var list []Finding
	var installed []string
	for _, path := range c.Settings {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			list = append(list, Finding{problem, "cannot read " + path + ": " + err.Error(), ""})
			continue
		}
		hooks, err := Hooks(text, c.Command)
		if err != nil {
			list = append(list, Finding{problem, fmt.Sprintf("%s %v, so the agent ignores it", path, err), "put the file in order"})
			continue
		}
		if HooksOff(text) {
			list = append(list, Finding{problem, path + " turns all hooks off", "remove disableAllHooks from it"})
		}
		if len(hooks) > 0 {
			installed = append(installed, path)
			list = append(list, c.checkHooks(path, hooks)...)
		}
	}
	list = append(list, c.checkServer(len(installed) > 0)...)
	switch len(installed) {
	case 0:
		return append(list, Finding{note, "no hooks are installed", setupHint})
	case 1:
	default:
		list = append(list, c.checkTwice(installed)...)
	}
	return append(list, c.checkSeen())
}

// checkHooks looks at the hooks of one file.
func (c Check) checkHooks(path string, hooks []OwnHook) []Finding {
	var list []Finding
	missing := events()
	var commands []string
	for _, h := range hooks {
		missing = slices.DeleteFunc(missing, func(event string) bool { return event == h.Event })
		if !slices.Contains(commands, h.Command) {
			commands = append(commands, h.Command)
		}
	}
	for _, command := range commands {
		if err := runnable(command); err != nil {
			list = append(list, Finding{problem, fmt.Sprintf("the hooks in %s run %s, but %v", path, command, err), setupHint})
		} else if !sameFile(command, c.Command) {
			list = append(list, Finding{warning, fmt.Sprintf("the hooks in %s run %s, which is another program than this one", path, command), setupHint})
		}
	}
	if len(missing) > 0 {
		list = append(list, Finding{warning, fmt.Sprintf("hooks are missing in %s: %s", path, strings.Join(missing, ", ")), setupHint})
	}
	if len(list) == 0 {
		list = append(list, Finding{ok, "installed in " + path, ""})
	}
	return list
}

// checkServer looks at the tools of conversations: where they are registered they
// need hooks, and a program that runs.
func (c Check) checkServer(hooks bool) []Finding {
	const hint = setupHint + " --conversation"
	text, err := os.ReadFile(c.Servers)
	if c.Servers == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Finding{{problem, "cannot read " + c.Servers + ": " + err.Error(), ""}}
	}
	command, has, err := Server(text, c.Command)
	switch {
	case err != nil:
		return []Finding{{problem, fmt.Sprintf("%s %v", c.Servers, err), "put the file in order"}}
	case !has:
		return nil
	case runnable(command) != nil:
		return []Finding{{problem, fmt.Sprintf("the MCP server in %s is %s, but %v", c.Servers, command, runnable(command)), hint}}
	case !hooks:
		return []Finding{{problem, "checkpoint and rewind are offered, but without hooks no call of them belongs to a session", hint}}
	case !sameFile(command, c.Command):
		return []Finding{{warning, fmt.Sprintf("the MCP server in %s is %s, which is another program than this one", c.Servers, command), hint}}
	}
	return []Finding{{ok, "checkpoint and rewind are offered by the MCP server in " + c.Servers, ""}}
}

// checkTwice looks for programs that differ between files: the agent runs the
// same command once, and two commands both.
func (c Check) checkTwice(paths []string) []Finding {
	commands := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it was read a moment ago; whoever changed it runs doctor again
		}
		hooks, err := Hooks(text, c.Command)
		if err != nil {
			continue
		}
		for _, h := range hooks {
			commands[h.Command] = true
		}
	}
	if len(commands) < 2 {
		return nil
	}
	return []Finding{{
		warning, "every hook runs more than once, by different programs: " + strings.Join(paths, ", "),
		setupHint + " --remove, with --project for the project's",
	}}
}

func (c Check) checkSeen() Finding {
	if !c.Seen {
		return Finding{
			warning, "no hook was ever seen to run",
			"give the agent a prompt; /hooks in it lists its hooks, and --bare or --safe-mode turn them off",
		}
	}
	ago := c.Now.Sub(c.LastSeen).Round(time.Minute)
	if ago < time.Minute {
		return Finding{ok, "a hook was seen less than a minute ago", ""}
	}
	return Finding{ok, "a hook was last seen " + strings.TrimSuffix(ago.String(), "0s") + " ago", ""}
}

func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("it is no program")
	}
	return nil
}

func sameFile(a, b string) bool {
	left, err := os.Stat(a)
	if err != nil {
		return false
	}
	right, err := os.Stat(b)
	return err == nil && os.SameFile(left, right)
}
