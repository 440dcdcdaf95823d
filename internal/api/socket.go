package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrNotListening says that nobody answers at the socket: it is absent, or left
// over from a daemon that is gone. Any other failure to reach a daemon is a
// reason not to start one there.
var ErrNotListening = errors.New("no daemon is listening")

// ErrUnreachable says that there is something at the socket's place which cannot
// be used as a daemon; the error that wraps it tells what. Nothing was sent.
var ErrUnreachable = errors.New("the daemon cannot be reached")

// SocketName is the file name of the socket in a folder that is ours.
const SocketName = "daemon.sock"

// Socket is where the daemon is reached, and what its folder must be like.
type Socket struct {
	Path string // absolute
	Own  bool   // the folder is made for the socket: nobody else may even enter it
	UID  int    // who must own the folder and be at the other end
}

// SocketRules says how a socket's place is chosen. The zero values of RunUser
// and Tmp stand for the system's own folders.
type SocketRules struct {
	Getenv  func(string) string // TURNBACK_SOCKET, XDG_RUNTIME_DIR
	UID     int                 // the user
	RunUser string              // /run/user
	Tmp     string              // /tmp, also where TMPDIR says otherwise: a cleaned environment must find the same place
}

// Find returns the socket's place: TURNBACK_SOCKET; else turnback/ in
// XDG_RUNTIME_DIR; else in /run/user/<uid>, if that is there and the user's (a
// hook may run with a cleaned environment); else /tmp/turnback-<uid>/. It looks
// at folders but makes none. A path that the system cannot take is an error.
func (r SocketRules) Find() (Socket, error) {
	s := Socket{UID: r.UID}
	switch named := r.Getenv("TURNBACK_SOCKET"); {
	case named != "" && !filepath.IsAbs(named):
		return s, Errorf(CodeInvalidParams, "TURNBACK_SOCKET is not an absolute path: %s", named)
	case named != "":
		s.Path = filepath.Clean(named)
	default:
		s.Own = true
		s.Path = filepath.Join(r.folder(), SocketName)
	}
	if n := len(s.Path); n > maxSocketPath {
		e := Errorf(CodeNoDaemon, "the socket's path has %d bytes, this system takes %d: %s", n, maxSocketPath, s.Path)
		return s, e.WithHint(Hint{Param: "TURNBACK_SOCKET", Detail: "set TURNBACK_SOCKET to a shorter path"})
	}
	return s, nil
}

func (r SocketRules) folder() string {
	runUser, tmp := r.RunUser, r.Tmp
	if runUser == "" {
		runUser = "/run/user"
	}
	if tmp == "" {
		tmp = "/tmp"
	}
	uid := strconv.Itoa(r.UID)
	for _, dir := range []string{r.Getenv("XDG_RUNTIME_DIR"), filepath.Join(runUser, uid)} {
		if filepath.IsAbs(dir) && ownedFolder(dir, r.UID) {
			return filepath.Join(dir, "turnback")
		}
	}
	return filepath.Join(tmp, "turnback-"+uid)
}

func ownedFolder(dir string, uid int) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && owner(info) == uid
}

// Dir is the folder that the socket is in.
func (s Socket) Dir() string { return filepath.Dir(s.Path) }

// LockPath is the file whose lock a daemon holds as long as it lives. It is
// never removed: who removes a lock file lets two in.
func (s Socket) LockPath() string { return s.Path + ".lock" }

// MakeDir makes the socket's folder if it is absent, and checks it.
func (s Socket) MakeDir() error {
	if err := s.CheckDir(); !errors.Is(err, ErrNotListening) {
		return err
	}
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	return s.CheckDir()
}

// CheckDir refuses a folder in which somebody else could put a socket of their
// own: one that is a link, belongs to another user, or lets others write. Both
// sides check it. An absent folder is ErrNotListening.
func (s Socket) CheckDir() error {
	dir := s.Dir()
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotListening
	case err != nil:
		return fmt.Errorf("look at the socket's folder: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return s.unsafe("is a symbolic link", "remove the link "+dir)
	case !info.IsDir():
		return s.unsafe("is no folder", "remove "+dir)
	case owner(info) != s.UID:
		return s.unsafe("belongs to another user", "set TURNBACK_SOCKET to a path in a folder of your own")
	}
	forbidden := fs.FileMode(0o022)
	if s.Own {
		forbidden = 0o077
	}
	if mode := info.Mode().Perm(); mode&forbidden != 0 {
		return s.unsafe(fmt.Sprintf("is open to other users (mode %04o)", mode), "run: chmod 700 "+dir)
	}
	return nil
}

func (s Socket) unsafe(what, detail string) error {
	return Errorf(CodeNoDaemon, "the socket's folder %s %s", s.Dir(), what).WithHint(Hint{Detail: detail})
}

// Dial connects to the daemon and checks that it runs as the same user. Nobody
// there is ErrNotListening.
func (s Socket) Dial(ctx context.Context) (net.Conn, error) {
	if err := s.CheckDir(); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.Path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNotListening
		}
		return nil, fmt.Errorf("connect to the daemon: %w", err)
	}
	if err := s.CheckPeer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// CheckPeer refuses a connection whose other end runs as another user.
func (s Socket) CheckPeer(conn net.Conn) error {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("not a unix socket: %T", conn)
	}
	uid, err := peerUID(unixConn)
	if err != nil {
		return fmt.Errorf("ask who is at the other end of the socket: %w", err)
	}
	if uid != s.UID {
		return Errorf(CodeForbidden, "the other end of the socket %s runs as user %d", s.Path, uid)
	}
	return nil
}
