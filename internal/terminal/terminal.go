// Package terminal tells where a process lives: the pane of the host program
// that shows it (tmux, WezTerm, kitty, ...) and its controlling terminal. It
// also tells one process from a later one with the same id.
//
// A key is a string that stays the same for every process of one pane, and is
// another for any other pane, also after a restart of the machine:
//
//	tmux:/tmp/tmux-1000/default,%3
//	tty:/dev/pts/3@<boot id>:<start time of the session leader>/<its pid>
package terminal

import (
	"errors"
	"strconv"
)

// ErrUnsupported says that this system does not tell about its processes.
var ErrUnsupported = errors.New("not supported on this system")

// maxAncestors bounds the walk to the top of the process tree.
const maxAncestors = 64

// Process is one entry of the process table.
type Process struct {
	PID     int
	Parent  int
	Session int    // the session leader's pid; 0: unknown
	Name    string // the short name, cut by the system (15 bytes on Linux)
	TTY     string // path of the controlling terminal, or "dev:<number>"; empty: none
	Started string // see ProcessStart
	Zombie  bool   // has ended, and its parent has not asked yet
}

// Identify returns the keys of the place that process pid lives in, best
// first: the pane of the host that env speaks of, then the controlling terminal
// of pid or of its nearest ancestor that has one (a shell tool often runs its
// commands without a terminal). Use it for a command that a person or an agent
// runs; pid is then the command's own.
func Identify(env func(string) string, pid int) []string {
	keys := hostKeys(env)
	p, err := lookup(pid)
	for range maxAncestors {
		if err != nil || p.TTY != "" || p.Parent <= 0 {
			break
		}
		p, err = lookup(p.Parent)
	}
	if err != nil {
		return keys
	}
	return appendKey(keys, ttyKey(p))
}

// IdentifyAgent is Identify for the process of an agent: only its own
// controlling terminal counts. An agent without one (headless, or below an
// editor) must not be taken for the terminal that its launcher happened to
// be started from.
func IdentifyAgent(env func(string) string, pid int) []string {
	keys := hostKeys(env)
	for _, p := range self(pid) {
		keys = appendKey(keys, ttyKey(p))
	}
	return keys
}

// ProcessStart returns a text that tells process pid from every other process
// that had or will have the same id: "<boot id>:<start time>". It fails when
// there is no such process, or only its remains.
func ProcessStart(pid int) (string, error) {
	p, err := Lookup(pid)
	if err != nil {
		return "", err
	}
	if p.Zombie {
		return "", errors.New("process has ended")
	}
	return p.Started, nil
}

// ProcessAlive says whether the process pid that ProcessStart described as
// started still runs. With an empty started any live process of that id will
// do. Where the system does not tell start times, it is true as long as the id
// is in use.
func ProcessAlive(pid int, started string) bool {
	if pid <= 0 {
		return false
	}
	now, err := ProcessStart(pid)
	if errors.Is(err, ErrUnsupported) {
		return exists(pid)
	}
	return err == nil && (started == "" || now == started)
}

// Ancestors returns the parents of process pid, the nearest first.
func Ancestors(pid int) []Process {
	var found []Process
	p, err := Lookup(pid)
	for err == nil && p.Parent > 0 && len(found) < maxAncestors {
		if p, err = Lookup(p.Parent); err == nil {
			found = append(found, p)
		}
	}
	return found
}

func self(pid int) []Process {
	p, err := Lookup(pid)
	if err != nil {
		return nil
	}
	return []Process{p}
}

func ttyKey(p Process) string {
	if p.TTY == "" || p.Session <= 0 {
		return ""
	}
	leader, err := Lookup(p.Session)
	if err != nil {
		return "" // without its leader's start the name alone would name a later terminal too
	}
	// Start times are coarse (10 ms on Linux); the id tells the rest apart.
	return "tty:" + p.TTY + "@" + leader.Started + "/" + strconv.Itoa(leader.PID)
}

func appendKey(keys []string, key string) []string {
	if key == "" {
		return keys
	}
	return append(keys, key)
}
