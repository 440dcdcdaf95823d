package api

import "time"

// StatusResult is the result of status.
type StatusResult struct {
	Version     string    `json:"version"`
	PID         int       `json:"pid"`
	Socket      string    `json:"socket"`
	Started     time.Time `json:"started"`
	Git         GitInfo   `json:"git"`
	Config      string    `json:"config"`       // path of the file, also when it is absent
	ConfigError string    `json:"config_error"` // why the file is not used; the last good values stand
	Windows     int       `json:"windows"`
	OpenTurns   int       `json:"open_turns"`
	Saving      int       `json:"saving"` // saves that run or wait
	LogFile     string    `json:"log_file"`
	StateFile   string    `json:"state_file"`
	Uncollapsed string    `json:"uncollapsed,omitempty"` // whose request went out as it came last, though it had a checkpoint in it, and why
	Warnings    []string  `json:"warnings,omitempty"`    // what a person should know: another version, a log that cannot be written
}

// StatusParams are the parameters of status.
type StatusParams struct {
	Version string `json:"version,omitempty"` // the caller's version; another one than the daemon's gives a warning
}

// StopDaemonResult is the result of stop-daemon: the daemon has begun to stop.
// It is gone when its lock is free (connect.Stop waits for that).
type StopDaemonResult struct {
	PID int `json:"pid"`
}

// GitInfo says which git is used.
type GitInfo struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Error   string `json:"error,omitempty"` // why there is none
}

// VerbInfo is one row of list-verbs.
type VerbInfo struct {
	Name    string   `json:"name"`
	Grant   string   `json:"grant"` // read, write, admin; empty: about the caller's own pane
	Summary string   `json:"summary"`
	Params  []Field  `json:"params"`
	Errors  []string `json:"errors,omitempty"`
	Example string   `json:"example,omitempty"`
}

// Field is one parameter of a verb.
type Field struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional,omitempty"`
}

// ListVerbsResult is the result of list-verbs.
type ListVerbsResult struct {
	Verbs []VerbInfo `json:"verbs"`
}

// Event is one entry of the stream GET /v1/events. Type is one of state,
// turn_started, turn_ended, checkpoint_saved, checkpoint_not_saved, restored,
// config_reloaded, config_broken, git_dir_gone. A reader that is too slow loses
// events and gets a "dropped" event with the count.
type Event struct {
	Type       string      `json:"type"`
	At         time.Time   `json:"at"`
	Pane       string      `json:"pane,omitempty"`
	Session    string      `json:"session,omitempty"`
	Window     string      `json:"window,omitempty"`
	Worktree   string      `json:"worktree,omitempty"`
	State      string      `json:"state,omitempty"`
	Turn       int         `json:"turn,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Count      int         `json:"count,omitempty"`
}
