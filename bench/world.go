package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// session is the session of every window that the bench makes.
const session = "bench"

// The windows, one for each thing that is measured.
const (
	windowTurns   = "turns"
	windowAlone   = "alone"
	windowListed  = "listed"
	windowRestore = "restore"
)

// world is a private home with a daemon of its own, for one repository.
type world struct {
	dir  string
	repo *repo
	with child // turnback by the daemon
	solo child // turnback in its own process
	pid  int   // the daemon
}

// newWorld makes the home. The daemon starts with the first call.
func newWorld(p tools, r *repo, dir string) (*world, error) {
	w := &world{dir: dir, repo: r}
	env := []string{"PATH=" + p.path, "LC_ALL=C", "NO_COLOR=1", "TURNBACK_SOCKET=" + filepath.Join(dir, "s")}
	for name, place := range map[string]string{
		"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache",
	} {
		path := filepath.Join(dir, "home", place)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		env = append(env, name+"="+path)
	}
	// git in the repository is git with no configuration of a person's.
	env = append(env, "GIT_CONFIG_NOSYSTEM=1")
	w.with = child{program: p.turnback, dir: r.root, env: env}
	w.solo = w.with
	w.solo.env = append(env[:len(env):len(env)], "TURNBACK_NO_DAEMON=1")
	return w, os.Chmod(dir, 0o700)
}

// call runs turnback with the arguments, by the daemon.
func (w *world) call(ctx context.Context, args ...string) ([]byte, error) {
	return w.with.run(ctx, args...)
}

// in calls a command about a window.
func (w *world) in(ctx context.Context, window string, args ...string) ([]byte, error) {
	return w.call(ctx, about(window, args)...)
}

func about(window string, args []string) []string {
	return append(args[:len(args):len(args)], "-s", session, "-w", window)
}

// start makes the windows and with them the daemon.
func (w *world) start(ctx context.Context) error {
	for _, window := range []string{windowTurns, windowAlone, windowListed, windowRestore} {
		if _, err := w.in(ctx, window, "set-agent-state", "idle"); err != nil {
			return err
		}
	}
	return w.findDaemon(ctx)
}

// daemonStatus is what of the daemon's status counts here.
type daemonStatus struct {
	PID    int `json:"pid"`
	Saving int `json:"saving"` // saves that run or wait
}

func (w *world) status(ctx context.Context) (daemonStatus, error) {
	var status daemonStatus
	out, err := w.call(ctx, "daemon", "status", "--json")
	if err != nil {
		return status, err
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return status, fmt.Errorf("read the daemon's status: %w", err)
	}
	return status, nil
}

func (w *world) findDaemon(ctx context.Context) error {
	status, err := w.status(ctx)
	w.pid = status.PID
	return err
}

// rest waits until the daemon saves nothing: a report is let go after 2 s, also
// when its save takes longer.
func (w *world) rest(ctx context.Context) error {
	for {
		status, err := w.status(ctx)
		if err != nil || status.Saving == 0 {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// hook sends an event of Claude Code, with further fields of its payload.
func (w *world) hook(ctx context.Context, event string, fields map[string]any) error {
	payload := map[string]any{"session_id": "bench", "cwd": w.repo.root, "hook_event_name": event}
	for name, value := range fields {
		payload[name] = value
	}
	stdin, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	c := w.with
	c.stdin = stdin
	out, err := c.run(ctx, "hook", "claude", event)
	// A prompt is told of the restores since the last one.
	told := event == "UserPromptSubmit" && bytes.Contains(out, []byte(`"additionalContext":"turnback: since your last turn a restore`))
	if err == nil && len(out) > 0 && !told {
		return fmt.Errorf("hook %s printed %s", event, out)
	}
	return err
}

// hookTrouble gives what hooks have written to their log: they never fail.
func (w *world) hookTrouble() error {
	text, err := os.ReadFile(filepath.Join(w.dir, "home", "state", "turnback", "hook.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return fmt.Errorf("hooks failed, first: %s", first)
}

// listed is a checkpoint as the program lists it.
type listed struct {
	N    int    `json:"n"`
	Ref  string `json:"ref"`
	Tree string `json:"tree"`
	Pane string `json:"pane"`
}

func (w *world) list(ctx context.Context, window string) ([]listed, error) {
	out, err := w.in(ctx, window, "checkpoint", "list", "--json")
	if err != nil {
		return nil, err
	}
	var result struct {
		Checkpoints []listed `json:"checkpoints"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return nil, fmt.Errorf("read the list of checkpoints: %w", err)
	}
	return result.Checkpoints, nil
}

// newest is the window's last checkpoint.
func (w *world) newest(ctx context.Context, window string) (listed, error) {
	all, err := w.list(ctx, window)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("window %s has no checkpoint", window)
	}
	if err != nil {
		return listed{}, err
	}
	return all[len(all)-1], nil
}

// memory is what the daemon holds of the machine's memory.
type memory struct{ now, peak int } // KiB; 0: not known on this system

func (w *world) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		if !alive(w.pid) {
			return memory{}, fmt.Errorf("the daemon, pid %d, has ended", w.pid)
		}
		return memory{}, nil // a system without /proc
	}
	var m memory
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &m.now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &m.peak)
	}
	return m, nil
}

// close ends the daemon, by its process id where it does not stop when asked.
func (w *world) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if w.pid == 0 && w.findDaemon(ctx) != nil {
		return os.RemoveAll(w.dir) // it was never started
	}
	_, err := w.call(ctx, "daemon", "stop")
	if err != nil && alive(w.pid) {
		err = errors.Join(err, endAtOnce(w.pid))
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}
