package daemon_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/verbs"
)

func TestStopVerbStopsCleanly(t *testing.T) {
	s := newServer(t).start()
	var r api.StopDaemonResult
	if err := s.client.Call(t.Context(), "stop-daemon", nil, &r, nil); err != nil {
		t.Fatal(err)
	}
	s.wait(nil)
	if r.PID != os.Getpid() {
		t.Errorf("pid %d", r.PID)
	}
	if got := s.tracker.noted(); !slices.Contains(got, "close") {
		t.Errorf("the tracker was not closed: %q", got)
	}
	if _, err := os.Lstat(s.options.Socket.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := os.Lstat(s.options.Socket.LockPath()); err != nil {
		t.Errorf("the lock file was removed: %v", err)
	}
}

func TestStopTellsWhatCouldNotBeSaved(t *testing.T) {
	s := newServer(t).start()
	full := errors.New("disk full")
	s.tracker.onClose = func(context.Context) error { return full }
	s.end()
	s.wait(full)
	if log := readFile(t, daemon.LogPath(s.options.StateDir)); !contains(log, "save what is mid-turn: disk full") {
		t.Errorf("the log: %s", log)
	}
}

// A stop lets a call that runs come to its end, and only then closes the rooms.
func TestStopWaitsForCallsThatRun(t *testing.T) {
	s := newServer(t)
	b := newBlock()
	s.extra = []verbs.Verb{b.verb("work", verbs.GrantWrite, func(context.Context) { s.tracker.note("worked") })}
	s.start()
	called := make(chan error, 1)
	go func() { called <- s.client.Call(t.Context(), "work", nil, nil, nil) }()
	<-b.began
	s.end()
	s.until("the socket is gone", func() bool {
		return errors.Is(s.client.Call(t.Context(), "status", nil, nil, nil), api.ErrNotListening)
	})
	close(b.release)
	if err := <-called; err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	s.wait(nil)
	if got := s.tracker.noted(); !slices.Equal(got, []string{"worked", "close"}) {
		t.Errorf("order %q", got)
	}
}

func TestStopEndsACallThatTakesTooLong(t *testing.T) {
	s := newServer(t)
	s.options.StopWithin = 100 * time.Millisecond
	b := newBlock()
	s.extra = []verbs.Verb{b.verb("work", verbs.GrantWrite, nil)}
	s.start()
	called := make(chan error, 1)
	go func() { called <- s.client.Call(t.Context(), "work", nil, nil, nil) }()
	<-b.began
	s.end()
	s.wait(nil)
	if err := <-called; err == nil {
		t.Error("the call that was cut off tells of no error")
	}
}

// Who had connected before the stop, and asks now, is told that nothing was done.
func TestCallThatComesTooLateDoesNothing(t *testing.T) {
	s := newServer(t).start()
	hold := make(chan struct{})
	s.tracker.onClose = func(context.Context) error { <-hold; return nil }
	conn, err := s.options.Socket.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.end()
	s.until("the rooms are being closed", func() bool { return slices.Contains(s.tracker.noted(), "close") })
	request := "POST /v1/set-agent-state HTTP/1.0\r\nContent-Length: 16\r\n\r\n{\"state\":\"done\"}"
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := conn.Read(answer); err != nil || string(answer) != "HTTP/1.0 503" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	close(hold)
	s.wait(nil)
	if got := s.tracker.noted(); !slices.Equal(got, []string{"close"}) {
		t.Errorf("the tracker got %q", got)
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	s := newServer(t).start()
	second, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("the second daemon: %v, want ErrRunning", err)
	}
	s.status() // the first goes on
}

// A daemon that is started while another stops takes over as soon as it can.
func TestDaemonWaitsForOneThatStops(t *testing.T) {
	s := newServer(t).start()
	hold := make(chan struct{})
	s.tracker.onClose = func(context.Context) error { <-hold; return nil }
	s.end()
	s.until("the rooms are being closed", func() bool { return slices.Contains(s.tracker.noted(), "close") })
	next := &server{t: t, options: s.options, client: s.client, tracker: &fakeTracker{}}
	next.options.Build = func(context.Context, daemon.Services) (daemon.Rooms, error) {
		return daemon.Rooms{Tracker: next.tracker, Git: func() api.GitInfo { return api.GitInfo{} }}, nil
	}
	go func() {
		time.Sleep(20 * time.Millisecond) // the next one is about to wait; if not, it finds the lock free
		close(hold)
	}()
	next.start()
	s.wait(nil)
	next.status()
}

func TestDaemonGivesUpOnOneThatNeverAnswers(t *testing.T) {
	s := newServer(t)
	s.options.LockWait = 50 * time.Millisecond
	if err := s.options.Socket.MakeDir(); err != nil {
		t.Fatal(err)
	}
	lock, err := files.TryLock(s.options.Socket.LockPath())
	if err != nil || lock == nil {
		t.Fatalf("lock %v, error %v", lock, err)
	}
	defer lock.Unlock()
	d, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("Run: %v, want ErrRunning", err)
	}
}

func TestLock(t *testing.T) {
	path := t.TempDir() + "/lock"
	first, err := files.TryLock(path)
	if err != nil || first == nil {
		t.Fatalf("lock %v, error %v", first, err)
	}
	if second, err := files.TryLock(path); err != nil || second != nil {
		t.Errorf("a held lock was given: %v, %v", second, err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	third, err := files.TryLock(path)
	if err != nil || third == nil {
		t.Fatalf("a free lock was not given: %v, %v", third, err)
	}
	if err := third.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	if _, err := files.TryLock(path + ".link"); err == nil {
		t.Error("a lock was taken through a symbolic link")
	}
}

func TestLeftOverSocketIsReplaced(t *testing.T) {
	s := newServer(t)
	if err := s.options.Socket.MakeDir(); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.options.Socket.Path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.start().status()
}

// A socket that answers is not removed, also when its owner knows no lock.
func TestSocketThatAnswersIsNotReplaced(t *testing.T) {
	s := newServer(t)
	if err := s.options.Socket.MakeDir(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.options.Socket.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("Run: %v, want ErrRunning", err)
	}
	if _, err := os.Lstat(s.options.Socket.Path); err != nil {
		t.Errorf("the socket was removed: %v", err)
	}
}

func TestFileInTheSocketsPlaceIsNotRemoved(t *testing.T) {
	s := newServer(t)
	if err := s.options.Socket.MakeDir(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.options.Socket.Path, "precious")
	d, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || !contains(err.Error(), "is in the way: it is no socket") {
		t.Errorf("Run: %v", err)
	}
	if readFile(t, s.options.Socket.Path) != "precious" {
		t.Error("the file was changed")
	}
}

func TestFolderThatIsOpenToOthersIsRefused(t *testing.T) {
	s := newServer(t)
	if err := s.options.Socket.MakeDir(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.options.Socket.Dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(s.options)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Run(t.Context())
	if e := api.AsError(err); err == nil || e.Code != api.CodeNoDaemon || e.Hint == nil {
		t.Errorf("Run: %v, want no_daemon with a hint", err)
	}
}

// A daemon whose socket was taken away cannot be reached any more; it saves what
// is mid-turn and makes way for the next.
func TestDaemonStopsWhenItsSocketIsGone(t *testing.T) {
	s := newServer(t).start()
	if err := os.Remove(s.options.Socket.Path); err != nil {
		t.Fatal(err)
	}
	s.wait(nil)
	if got := s.tracker.noted(); !slices.Contains(got, "close") {
		t.Errorf("the tracker was not closed: %q", got)
	}
}

// At its end a daemon removes its own socket, not one that took its place.
func TestStopLeavesAnothersSocket(t *testing.T) {
	s := newServer(t)
	s.options.Tick = time.Hour // it must not notice
	s.start()
	if err := os.Remove(s.options.Socket.Path); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.options.Socket.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.end()
	s.wait(nil)
	if _, err := os.Lstat(s.options.Socket.Path); err != nil {
		t.Errorf("the other's socket was removed: %v", err)
	}
}
