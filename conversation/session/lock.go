package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// InUseError says that another has a session open.
type InUseError struct{ PID int } // 0 when it is not known

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return "session in use by another process"
	}
	return fmt.Sprintf("session in use by pid %d", e.PID)
}

// lock takes the lock file at path, which stays there for good, and writes who
// has it. The system lets go of it when the process ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the session: %w", err)
	}
	taken, err := tryLock(f)
	if err == nil && !taken {
		err = &InUseError{PID: holder(f)}
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), writePID(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder is the process that has the lock. It may have taken it just now and not
// have written its id yet.
func holder(f *os.File) int {
	for range 20 {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
		if pid, perr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && perr == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0
}
