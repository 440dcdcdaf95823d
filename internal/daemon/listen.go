package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/files"
)

// acquire makes the socket's folder and takes the lock. When another holds it
// and answers, that is ErrRunning; one that does not answer is about to start or
// to stop, and is waited for.
func (s *Server) acquire(ctx context.Context) (*files.Lock, error) {
	if err := s.o.Socket.MakeDir(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.LockWait)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		lock, err := files.TryLock(s.o.Socket.LockPath())
		if lock != nil || err != nil {
			return lock, err
		}
		if conn, err := s.o.Socket.Dial(ctx); err == nil {
			return nil, errors.Join(ErrRunning, conn.Close())
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it holds %s but does not answer", ErrRunning, s.o.Socket.LockPath())
		case <-poll.C:
		}
	}
}

// listen makes the socket. The caller holds the lock, so a socket that is there
// was left over, unless somebody answers who knows no lock.
func (s *Server) listen() (*trustedListener, error) {
	path := s.o.Socket.Path
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("look at the socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("%s is in the way: it is no socket", path)
	default:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if conn, err := s.o.Socket.Dial(ctx); !errors.Is(err, api.ErrNotListening) {
			if err == nil {
				err = conn.Close()
			}
			return nil, errors.Join(ErrRunning, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket that was left over: %w", err)
		}
	}
	inner, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	inner.SetUnlinkOnClose(false)
	l := &trustedListener{UnixListener: inner, socket: s.o.Socket, log: s.log}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), inner.Close())
	}
	if l.made, err = os.Lstat(path); err != nil {
		return nil, errors.Join(fmt.Errorf("look at the socket: %w", err), inner.Close())
	}
	return l, nil
}

// trustedListener accepts connections of the own user only.
type trustedListener struct {
	*net.UnixListener
	socket api.Socket
	log    *slog.Logger
	made   fs.FileInfo // the socket as it was made
}

// Accept waits for the next connection of the own user; others are closed.
func (l *trustedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		if err := l.socket.CheckPeer(conn); err != nil {
			l.log.Warn("connection refused", "error", errors.Join(err, conn.Close()).Error())
			continue
		}
		return conn, nil
	}
}

// there tells whether the socket that callers find is still this one.
func (l *trustedListener) there() bool {
	info, err := os.Lstat(l.socket.Path)
	return err == nil && os.SameFile(info, l.made)
}

// remove removes the socket, so that the next caller starts a daemon that waits
// for this one's lock. One that somebody else has put there stays.
func (l *trustedListener) remove() error {
	if !l.there() {
		return nil
	}
	if err := os.Remove(l.socket.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket: %w", err)
	}
	return nil
}

// watchSocket stops the daemon when its socket is gone (a cleaner of /tmp took
// it): nobody could ever reach it again, and the next caller starts another.
func (s *Server) watchSocket(ctx context.Context, l *trustedListener) {
	ticker := time.NewTicker(s.o.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !l.there() {
				s.log.Warn("the socket is gone, stopping")
				s.Stop()
				return
			}
		}
	}
}
