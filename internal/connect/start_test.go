//go:build unix

package connect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/connect"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/verbs"
)

// TestMain lets this test's program be the daemon that it starts, and a command
// that starts one.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "daemon" && os.Args[2] == "run":
		os.Exit(mainDaemon())
	case len(os.Args) == 2 && os.Args[1] == "print-daemon":
		os.Exit(mainPrintDaemon())
	}
	goleak.VerifyTestMain(m)
}

func mainDaemon() int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	err := runDaemon(ctx)
	if err != nil && !errors.Is(err, daemon.ErrRunning) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runDaemon(ctx context.Context) error {
	socket, err := api.SocketRules{Getenv: os.Getenv, UID: os.Getuid()}.Find()
	if err != nil {
		return err
	}
	state, err := daemon.StateDir(os.Getenv)
	if err != nil {
		return err
	}
	d, err := daemon.New(daemon.Options{
		Version: "test", Socket: socket, StateDir: state, ConfigPath: filepath.Join(state, "none"), Now: time.Now,
		Build: func(context.Context, daemon.Services) (daemon.Rooms, error) {
			return daemon.Rooms{
				Tracker:     savingTracker{filepath.Join(state, "saved")},
				Checkpoints: []verbs.Verb{echoVerb("daemon"), lookVerb(), dieVerb()},
				Git:         func() api.GitInfo { return api.GitInfo{} },
			}, nil
		},
	})
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// savingTracker leaves a file when it is closed, in place of saves.
type savingTracker struct{ path string }

func (savingTracker) Report(context.Context, api.AgentReport) (api.SetAgentStateResult, error) {
	return api.SetAgentStateResult{}, nil
}

func (savingTracker) SetState(context.Context, api.SetAgentStateParams) (api.SetAgentStateResult, error) {
	return api.SetAgentStateResult{}, nil
}

func (savingTracker) GetState(context.Context, api.GetAgentStateParams) (api.GetAgentStateResult, error) {
	return api.GetAgentStateResult{}, nil
}

func (savingTracker) Windows(context.Context) (api.ListWindowsResult, error) {
	return api.ListWindowsResult{}, nil
}

func (s savingTracker) Close(context.Context) error {
	return os.WriteFile(s.path, []byte("saved"), 0o600)
}

// look is what a daemon sees of its own process.
type look struct {
	Dir     string   `json:"dir"`
	Environ []string `json:"environ"`
	Session int      `json:"session"`
	Streams []string `json:"streams"` // where input, output and errors go
}

func lookVerb() verbs.Verb {
	return verbs.Verb{Name: "look", Grant: verbs.GrantRead, Summary: "Look at the process.", Run: func(context.Context, verbs.Call) (any, error) {
		l := look{Environ: os.Environ()}
		var err error
		if l.Dir, err = os.Getwd(); err != nil {
			return nil, err
		}
		if l.Session, err = unix.Getsid(0); err != nil {
			return nil, err
		}
		for fd := range 3 {
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				return nil, err
			}
			l.Streams = append(l.Streams, fmt.Sprintf("%d:%d", st.Dev, st.Ino))
		}
		return l, nil
	}}
}

func dieVerb() verbs.Verb {
	return verbs.Verb{Name: "die", Grant: verbs.GrantWrite, Summary: "End the process at once.", Run: func(context.Context, verbs.Call) (any, error) {
		return nil, unix.Kill(os.Getpid(), unix.SIGKILL)
	}}
}

// mainPrintDaemon is a command: it asks the daemon who it is, and starts it.
func mainPrintDaemon() int {
	program, err := os.Executable()
	if err != nil {
		return 1
	}
	o := connect.Options{Environ: os.Environ(), UID: os.Getuid(), Executable: program, StartWait: patience}
	c, err := connect.Connect(context.Background(), o)
	if err != nil {
		return 1
	}
	var r api.StatusResult
	if err := c.Call(context.Background(), "status", nil, &r, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(r.PID)
	return 0
}

// running starts a daemon and returns its pid; the test ends it by its id.
func (h *house) running(o connect.Options) int {
	h.t.Helper()
	var r api.StatusResult
	if err := h.caller(o).Call(h.t.Context(), "status", nil, &r, nil); err != nil {
		h.t.Fatal(err)
	}
	h.endsLater(r.PID)
	return r.PID
}

func (h *house) endsLater(pid int) {
	h.t.Cleanup(func() {
		// It may have ended already.
		if err := unix.Kill(pid, unix.SIGKILL); err == nil {
			reap(pid)
		}
	})
}

// reap waits for the end of a child and returns how it ended. A daemon that
// another command has started is no child of ours.
func reap(pid int) unix.WaitStatus {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status
		}
	}
}

func stat(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

func TestCallStartsADaemonThatOwesItsStarterNothing(t *testing.T) {
	h := newHouse(t)
	h.env = append(h.env, "LANG=C.UTF-8", "LC_TIME=C", "GIT_DIR=/somewhere", "GIT_INDEX_FILE=x", "TURNBACK_PANE_ID=00d333ce",
		"TURNBACK_SESSION=api", "TURNBACK=1", "TURNBACK_OTHER=kept", "SECRET_TOKEN=hunter2", "CLAUDE_PID=7")
	// A descriptor that the starter was given by its own parent.
	read, write := openPipe(t)
	o := h.options()
	pid := h.running(o)
	var l look
	if err := h.caller(o).Call(t.Context(), "look", nil, &l, nil); err != nil {
		t.Fatal(err)
	}
	if l.Dir != "/" {
		t.Errorf("its folder is %s", l.Dir)
	}
	if l.Session != pid {
		t.Errorf("its session is %d, its pid %d", l.Session, pid)
	}
	want := []string{
		"HOME=" + h.dir, "LANG=C.UTF-8", "LC_TIME=C", "PATH=/usr/bin:/bin", "TURNBACK_OTHER=kept",
		"XDG_RUNTIME_DIR=" + h.dir, "XDG_STATE_HOME=" + h.dir + "/state",
	}
	slices.Sort(l.Environ)
	if !slices.Equal(l.Environ, want) {
		t.Errorf("its environment is %q, want %q", l.Environ, want)
	}
	null := stat(t, os.DevNull)
	if streams := []string{null, null, stat(t, h.dir+"/state/turnback/daemon.err")}; !slices.Equal(l.Streams, streams) {
		t.Errorf("its streams are %q, want %q", l.Streams, streams)
	}
	// Once the own end is closed nobody holds the pipe open.
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the daemon holds its starter's pipe: %v", err)
	}
}

// openPipe makes a pipe whose writing end a child would inherit.
func openPipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd, err := unix.Dup(int(w.Fd())) // without the mark that closes it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	return read, os.NewFile(uintptr(fd), "pipe")
}

func TestThirtyStartsAtOnceGiveOneDaemon(t *testing.T) {
	h := newHouse(t)
	program := h.options().Executable
	const n = 30
	out, errs := make([]bytes.Buffer, n), make([]bytes.Buffer, n)
	commands := make([]*exec.Cmd, n)
	for i := range commands {
		c := exec.Command(program, "print-daemon")
		c.Env, c.Stdout, c.Stderr = h.env, &out[i], &errs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands[i] = c
	}
	pids := map[string]int{}
	for i, c := range commands {
		if err := c.Wait(); err != nil {
			t.Errorf("command %d: %v: %s", i, err, &errs[i])
		}
		pids[out[i].String()]++
	}
	for text := range pids {
		if pid, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			h.endsLater(pid)
		}
	}
	if len(pids) != 1 {
		t.Errorf("daemons and how many reached them: %v", pids)
	}
	log, err := os.ReadFile(filepath.Join(h.dir, "state", "turnback", "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(log), `"msg":"started"`); got != 1 {
		t.Errorf("%d daemons have started: %s", got, log)
	}
}

func TestSIGTERMSavesAndEnds(t *testing.T) {
	h := newHouse(t)
	pid := h.running(h.options())
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := reap(pid); !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("it ended with %v", status)
	}
	if saved, err := os.ReadFile(filepath.Join(h.dir, "state", "turnback", "saved")); err != nil || string(saved) != "saved" {
		t.Errorf("what was mid-turn was not saved: %q, %v", saved, err)
	}
	if _, err := h.socket().Dial(t.Context()); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("the socket: %v", err)
	}
}

func TestCallAfterTheDaemonWasKilledStartsAnother(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	first := h.running(o)
	c := h.caller(o)
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	reap(first)
	var r api.StatusResult
	if err := c.Call(t.Context(), "status", nil, &r, nil); err != nil {
		t.Fatal(err)
	}
	h.endsLater(r.PID)
	if r.PID == first {
		t.Error("no other daemon answered")
	}
}

// A daemon that dies during a call may have carried it out: it must not be done
// again, neither by another daemon nor here.
func TestCallIsNotRepeatedWhenTheDaemonDies(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	ran := false
	o.Local = func(context.Context) (*verbs.Table, error) {
		return verbs.NewTable(verbs.Verb{Name: "die", Grant: verbs.GrantWrite, Summary: "Not to be run.", Run: func(context.Context, verbs.Call) (any, error) {
			ran = true
			return nil, nil
		}})
	}
	pid := h.running(o)
	e := noDaemon(t, h.caller(o).Call(t.Context(), "die", nil, nil, nil))
	if !strings.Contains(e.Message, "went away during die") || ran {
		t.Errorf("error %q; run here: %v", e.Message, ran)
	}
	reap(pid)
	if _, err := h.socket().Dial(t.Context()); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("another daemon was started: %v", err)
	}
}

func TestStopReturnsWhenTheDaemonIsGone(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	pid := h.running(o)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := connect.Stop(ctx, o)
	if err != nil || r.PID != pid {
		t.Fatalf("result %+v, error %v", r, err)
	}
	lock, err := files.TryLock(h.socket().LockPath())
	if err != nil || lock == nil {
		t.Fatalf("the lock is held: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "state", "turnback", "saved")); err != nil {
		t.Errorf("what was mid-turn was not saved: %v", err)
	}
	reap(pid)
}

func TestStartIsContentWithADaemonThatListens(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	pid := h.running(o)
	if err := connect.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := h.running(o); got != pid {
		t.Errorf("pid %d, want %d", got, pid)
	}
}

func TestEventsStartADaemonAndEndWithIt(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	h.running(o)
	ended := make(chan error, 1)
	events := make(chan api.Event, 8)
	go func() {
		ended <- connect.Events(t.Context(), o, func(e api.Event) error { events <- e; return nil })
	}()
	// The config is looked at every so often, so the event comes once the reader
	// is there; the stream must then end with the daemon.
	path := filepath.Join(h.dir, "state", "turnback", "none")
	for n := 0; len(events) == 0; n++ {
		if n > 300 {
			t.Fatal("no event came")
		}
		if err := os.WriteFile(path, []byte(fmt.Sprintf("[agents.checkpoints]\nkeep = %d\n", n+1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.caller(o).Call(t.Context(), "status", nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if e := <-events; e.Type != "config_reloaded" {
		t.Errorf("event %+v", e)
	}
	if _, err := connect.Stop(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("Events: %v, want io.EOF", err)
	}
}

// script makes a program that stands for turnback.
func (h *house) script(text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func TestDaemonThatCannotStart(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	o.Local = local
	cases := []struct{ program, want string }{
		{h.script("echo starting; echo 'no room in the inn' >&2; exit 1"), "no daemon can be had: the daemon ended at once: no room in the inn"},
		{filepath.Join(h.dir, "none"), "no such file or directory"},
	}
	for _, c := range cases {
		o.Executable = c.program
		begun := time.Now()
		e := noDaemon(t, h.caller(o).Call(t.Context(), "status", nil, nil, nil))
		if !strings.Contains(e.Message, c.want) {
			t.Errorf("error %q, want %q", e.Message, c.want)
		}
		if took := time.Since(begun); took > patience/2 {
			t.Errorf("waited %s for a daemon that had ended", took)
		}
		var got echoResult
		if err := h.caller(o).Call(t.Context(), "echo", echoParams{Text: "x"}, &got, nil); err != nil || got.At != "here" {
			t.Errorf("the local verb: %+v, %v", got, err)
		}
	}
}

func TestDaemonThatNeverListens(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	pidFile := filepath.Join(h.dir, "pid")
	o.Executable = h.script("echo $$ > " + pidFile + "; exec sleep 600")
	o.StartWait = 300 * time.Millisecond
	e := noDaemon(t, h.caller(o).Call(t.Context(), "status", nil, nil, nil))
	if !strings.Contains(e.Message, "did not listen within 300ms") {
		t.Errorf("error %q", e.Message)
	}
	h.endsLater(readPID(t, pidFile))
}

// readPID waits for a script to have written its pid.
func readPID(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(string(text), "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("%s was not written", path)
	return 0
}

func TestStartEndsWithItsContext(t *testing.T) {
	h := newHouse(t)
	o := h.options()
	// Somebody else is starting a daemon, for ever.
	if err := h.socket().MakeDir(); err != nil {
		t.Fatal(err)
	}
	lock, err := files.TryLock(h.socket().Path + ".start")
	if err != nil || lock == nil {
		t.Fatalf("lock %v, error %v", lock, err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.caller(o).Call(ctx, "status", nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}
