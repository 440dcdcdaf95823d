// Package hookstate keeps what hooks leave behind for a person who wonders
// whether they run: a log of what went wrong, and when each agent's hook was
// last seen. No text of an agent goes in, and nothing of the environment.
package hookstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	logName = "hook.log"
	seenDir = "hooks-seen"

	maxLog    = 256 << 10       // bytes; then the log becomes hook.log.1
	seenEvery = 1 * time.Minute // a newer sign of life is not written down
	maxWord   = 64
	maxError  = 500
)

// Dir is turnback's state directory, $XDG_STATE_HOME/turnback. With an empty
// Dir nothing is kept.
type Dir string

// entry is a line of the log.
type entry struct {
	Time  string `json:"time"`
	Agent string `json:"agent"`
	Event string `json:"event"`
	Ms    int64  `json:"ms"` // from the hook's start
	Error string `json:"error"`
}

// Log adds a line about a hook that started at start and failed with cause.
func (d Dir) Log(agent, event string, start, now time.Time, cause error) error {
	if d == "" {
		return nil
	}
	line, err := json.Marshal(entry{
		Time: now.UTC().Format(time.RFC3339), Agent: cut(agent, maxWord), Event: cut(event, maxWord),
		Ms: now.Sub(start).Milliseconds(), Error: cut(cause.Error(), maxError),
	})
	if err != nil {
		return fmt.Errorf("encode a line of the hook log: %w", err)
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	path := d.LogFile()
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		// Two hooks may both come here; the second then moves a short log.
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("rotate the hook log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the hook log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// LogFile is the path of the log.
func (d Dir) LogFile() string { return filepath.Join(string(d), logName) }

// Saw notes that a hook of agent ran at now.
func (d Dir) Saw(agent string, now time.Time) error {
	if d == "" {
		return nil
	}
	path := filepath.Join(string(d), seenDir, agent)
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) < seenEvery && !info.ModTime().After(now) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of hooks seen: %w", err)
	}
	if err := os.WriteFile(path, []byte(now.UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		return fmt.Errorf("note a hook: %w", err)
	}
	return nil
}

// LastSeen says when a hook of agent was seen, to the minute; ok is false when
// none ever was.
func (d Dir) LastSeen(agent string) (when time.Time, ok bool) {
	info, err := os.Stat(filepath.Join(string(d), seenDir, agent))
	if d == "" || err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
