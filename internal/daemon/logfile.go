package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	logSize = 1 << 20 // bytes of a log file before the next is begun
	logKept = 3       // older log files that are kept: NAME.1 is the newest of them
)

// logFile is a file that is appended to and begun anew when it is full. It may
// be used by several goroutines at once.
type logFile struct {
	path string
	size int64 // limit in bytes

	mu      sync.Mutex
	file    *os.File // nil: closed, or could not be opened
	closed  bool
	written int64
	err     error // the last failure; nil once a write went well
}

// openLog opens or makes the file. When it cannot, writes are lost and problem
// tells why: a daemon without a log is better than none.
func openLog(path string, size int64) *logFile {
	l := &logFile{path: path, size: size}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = l.open()
	return l
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), f.Close())
	}
	l.file, l.written = f, info.Size()
	return nil
}

// Write appends p, which is whole lines.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && !l.closed {
		l.err = l.open()
	}
	if l.file == nil {
		return 0, l.err
	}
	if l.written > 0 && l.written+int64(len(p)) > l.size {
		if l.err = l.rotate(); l.err != nil {
			return 0, l.err
		}
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	l.err = err
	return n, err
}

func (l *logFile) rotate() error {
	err := l.file.Close()
	l.file = nil
	for i := logKept; i > 0; i-- {
		older := fmt.Sprintf("%s.%d", l.path, i)
		newer := l.path
		if i > 1 {
			newer = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if e := os.Rename(newer, older); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("rotate the log: %w", e))
		}
	}
	return errors.Join(err, l.open())
}

// problem says why the last write was lost; nil: it was not.
func (l *logFile) problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close closes the file; later writes are lost.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.err = nil, fs.ErrClosed
	return err
}
