package api_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

func TestFindSocket(t *testing.T) {
	uid := os.Getuid()
	runtime := shortDir(t)
	runUser := shortDir(t)
	mine := filepath.Join(runUser, itoa(uid))
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(runtime, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fallback := filepath.Join("/t", "turnback-"+itoa(uid), "daemon.sock")
	cases := []struct {
		name    string
		env     map[string]string
		runUser string
		want    string
		own     bool
	}{
		{"named", map[string]string{"TURNBACK_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": runtime}, runUser, "/a/b.sock", false},
		{"runtime dir", map[string]string{"XDG_RUNTIME_DIR": runtime}, runUser, runtime + "/turnback/daemon.sock", true},
		{"cleaned environment", nil, runUser, mine + "/turnback/daemon.sock", true},
		{"runtime dir is absent", map[string]string{"XDG_RUNTIME_DIR": runtime + "/none"}, runUser, mine + "/turnback/daemon.sock", true},
		{"runtime dir is a file", map[string]string{"XDG_RUNTIME_DIR": file}, runUser, mine + "/turnback/daemon.sock", true},
		{"runtime dir is relative", map[string]string{"XDG_RUNTIME_DIR": "run"}, runUser, mine + "/turnback/daemon.sock", true},
		{"nothing there", nil, runtime, fallback, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rules := api.SocketRules{Getenv: func(n string) string { return c.env[n] }, UID: uid, RunUser: c.runUser, Tmp: "/t"}
			got, err := rules.Find()
			if err != nil {
				t.Fatal(err)
			}
			want := api.Socket{Path: c.want, Own: c.own, UID: uid}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// A runtime folder that came along from another user (su, sudo -E) is not used.
func TestFindSocketPassesOverAnotherUsersFolder(t *testing.T) {
	runtime := shortDir(t)
	env := map[string]string{"XDG_RUNTIME_DIR": runtime}
	rules := api.SocketRules{Getenv: func(n string) string { return env[n] }, UID: os.Getuid() + 1, RunUser: "/none", Tmp: "/t"}
	got, err := rules.Find()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join("/t", "turnback-"+itoa(os.Getuid()+1), "daemon.sock"); got.Path != want {
		t.Errorf("path %s, want %s", got.Path, want)
	}
}

func TestFindSocketRefuses(t *testing.T) {
	long := "/" + strings.Repeat("x", 120) + "/s"
	cases := []struct {
		path, message string
		code          api.Code
	}{
		{"run/s.sock", "TURNBACK_SOCKET is not an absolute path: run/s.sock", api.CodeInvalidParams},
		{long, "the socket's path has 123 bytes, this system takes ", api.CodeNoDaemon},
	}
	for _, c := range cases {
		_, err := api.SocketRules{Getenv: func(string) string { return c.path }}.Find()
		var e *api.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(e.Message, c.message) {
			t.Errorf("%s: %v, want %s %q", c.path, err, c.code, c.message)
		}
	}
}

// The system's limit is the one that the code names: one byte more fails.
func TestSocketPathLimit(t *testing.T) {
	dir := shortDir(t)
	find := func(length int) (api.Socket, error) {
		path := filepath.Join(dir, strings.Repeat("s", length-len(dir)-1))
		return api.SocketRules{Getenv: func(string) string { return path }, UID: os.Getuid()}.Find()
	}
	longest := 0
	for n := 90; n < 130; n++ {
		if _, err := find(n); err == nil {
			longest = n
		}
	}
	s, err := find(longest)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatalf("a path of %d bytes: %v", longest, err)
	}
	defer l.Close()
	if l, err := net.Listen("unix", s.Path+"s"); err == nil {
		l.Close()
		t.Errorf("the system takes a path of %d bytes", longest+1)
	}
}

func TestCheckDir(t *testing.T) {
	base := shortDir(t)
	folder := func(name string, mode os.FileMode) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil { // past the umask
			t.Fatal(err)
		}
		return dir
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(folder("target", 0o700), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	cases := []struct {
		name, dir string
		own       bool
		uid       int
		want      string // in the message; empty: fine
	}{
		{"private", folder("private", 0o700), true, uid, ""},
		{"readable by others, own", folder("r1", 0o750), true, uid, "is open to other users (mode 0750)"},
		{"readable by others, named", folder("r2", 0o755), false, uid, ""},
		{"writable by a group, named", folder("w1", 0o770), false, uid, "is open to other users (mode 0770)"},
		{"writable by all", folder("w2", 0o777), true, uid, "is open to other users (mode 0777)"},
		{"another user's", folder("o", 0o700), true, uid + 1, "belongs to another user"},
		{"link", link, true, uid, "is a symbolic link"},
		{"file", file, true, uid, "is no folder"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := api.Socket{Path: filepath.Join(c.dir, "s"), Own: c.own, UID: c.uid}
			for side, err := range map[string]error{"client": s.CheckDir(), "server": s.MakeDir()} {
				var e *api.Error
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", side, err)
				case c.want == "":
				case !errors.As(err, &e) || !strings.Contains(e.Message, c.want):
					t.Errorf("%s: %v, want %q", side, err, c.want)
				case e.Code != api.CodeNoDaemon || e.Hint == nil:
					t.Errorf("%s: code %s, hint %v", side, e.Code, e.Hint)
				}
			}
		})
	}
}

func TestMakeDirMakesAPrivateFolder(t *testing.T) {
	s := api.Socket{Path: filepath.Join(shortDir(t), "a", "s"), Own: true, UID: os.Getuid()}
	if err := s.CheckDir(); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("an absent folder: %v, want ErrNotListening", err)
	}
	if err := s.MakeDir(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
}

func TestDialTellsAbsentFromUnusable(t *testing.T) {
	s := api.Socket{Path: filepath.Join(shortDir(t), "s"), Own: true, UID: os.Getuid()}
	if _, err := s.Dial(t.Context()); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("no socket: %v, want ErrNotListening", err)
	}
	leftOver(t, s.Path)
	if _, err := s.Dial(t.Context()); !errors.Is(err, api.ErrNotListening) {
		t.Errorf("a left-over socket: %v, want ErrNotListening", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Dial(ended); errors.Is(err, api.ErrNotListening) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestDialChecksTheOtherEnd(t *testing.T) {
	s := api.Socket{Path: filepath.Join(shortDir(t), "s"), UID: os.Getuid()}
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other := s
	other.UID++
	err = other.CheckPeer(conn)
	if e := api.AsError(err); err == nil || e.Code != api.CodeForbidden {
		t.Errorf("another user at the other end: %v, want forbidden", err)
	}
}
