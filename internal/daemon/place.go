package daemon

import (
	"errors"
	"path/filepath"
	"strings"
)

// StateDir is the folder for the state file and the logs:
// $XDG_STATE_HOME/turnback, else ~/.local/state/turnback. As XDG wants it, a
// relative XDG_STATE_HOME is passed over.
func StateDir(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("find the state folder: neither XDG_STATE_HOME nor HOME is an absolute path")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "turnback"), nil
}

// LogPath is the newest log file below a state folder.
func LogPath(stateDir string) string { return filepath.Join(stateDir, "daemon.log") }

// Getenv looks names up in an environment as os.Environ gives it. Of entries
// with the same name the last holds.
func Getenv(environ []string) func(string) string {
	return func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
				return value
			}
		}
		return ""
	}
}
