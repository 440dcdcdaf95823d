package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/xec"
)

const (
	pollFirst = 2 * time.Millisecond
	pollMost  = 20 * time.Millisecond
	// errFileKept is how many bytes of daemons' dying words are kept.
	errFileKept = 256 << 10
)

// start makes sure that a daemon listens at socket, or is a *noDaemon. Of many
// that start at once one runs the program; the others wait for the socket too.
func (o Options) start(ctx context.Context, socket api.Socket) error {
	if o.NoStart || o.Executable == "" {
		return &noDaemon{api.ErrNotListening}
	}
	if err := socket.MakeDir(); err != nil {
		return &noDaemon{err}
	}
	wait, cancel := context.WithTimeout(ctx, o.StartWait)
	defer cancel()
	s := starter{options: o, socket: socket}
	err := s.untilListening(wait)
	err = errors.Join(err, s.close())
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("start the daemon: %w", ctx.Err())
	}
	return &noDaemon{err}
}

// starter is one try to have a daemon.
type starter struct {
	options Options
	socket  api.Socket

	lock    *files.Lock // held by the one that runs the program, until it listens
	program xec.Detached
	errFile *os.File // what the program says before it has a log
	errFrom int64    // where in errFile this try begins
}

func (s *starter) untilListening(ctx context.Context) error {
	pause := pollFirst
	for {
		ended := s.lock != nil && s.program.Exited()
		conn, err := s.socket.Dial(ctx)
		if err == nil {
			return conn.Close()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			<-ctx.Done() // the connection may notice first
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("the daemon did not listen within %s%s", s.options.StartWait, s.lastWords())
		case !errors.Is(err, api.ErrNotListening):
			return err
		case ended:
			return fmt.Errorf("the daemon ended at once%s", s.lastWords())
		case s.lock == nil:
			if err := s.tryRun(); err != nil {
				return err
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		pause = min(2*pause, pollMost)
	}
}

// tryRun runs the program unless another starter is at it.
func (s *starter) tryRun() error {
	lock, err := files.TryLock(s.socket.Path + ".start")
	if lock == nil || err != nil {
		return err
	}
	s.lock = lock
	s.openErrFile()
	s.program, err = xec.StartDetached(s.options.Executable, []string{"daemon", "run"}, daemonEnv(s.options.Environ), s.errFile)
	return err
}

// openErrFile opens the file for dying words: in the state folder, or where
// there can be none a nameless one beside the socket. A daemon without one still
// runs.
func (s *starter) openErrFile() {
	f, err := s.errFileInState()
	if err != nil {
		if f, err = os.CreateTemp(filepath.Dir(s.socket.Path), "daemon.err.*"); err != nil {
			return
		}
		if os.Remove(f.Name()) != nil {
			_ = f.Close() // it is not used
			return
		}
	}
	s.errFile = f
	info, err := f.Stat()
	if err != nil {
		return
	}
	s.errFrom = info.Size()
	if s.errFrom > errFileKept && f.Truncate(0) == nil {
		s.errFrom = 0
	}
}

func (s *starter) errFileInState() (*os.File, error) {
	dir, err := daemon.StateDir(daemon.Getenv(s.options.Environ))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, "daemon.err"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
}

// lastWords is the last line that the program of this try has written.
func (s *starter) lastWords() string {
	if s.errFile == nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(s.errFile, s.errFrom, 16<<10))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}

func (s *starter) close() error {
	var err error
	if s.errFile != nil {
		err = s.errFile.Close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}

// daemonEnv is what of the starter's environment a daemon gets: where things
// are, agents' transcripts too, and the language. Nothing else of the agent, nothing
// of GIT_* or of the pane.
func daemonEnv(environ []string) []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSL_CERT_FILE", "CLAUDE_CONFIG_DIR"}
	ofPane := []string{"TURNBACK", "TURNBACK_PANE_ID", "TURNBACK_SESSION"}
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		known := slices.Contains(names, name) || strings.HasPrefix(name, "XDG_") ||
			strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "TURNBACK_")
		if known && !slices.Contains(ofPane, name) {
			out = append(out, entry)
		}
	}
	return out
}
