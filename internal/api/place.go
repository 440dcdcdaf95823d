package api

import "time"

// Place says where a caller stands and which window it means. Every verb about
// a pane embeds it. Rules of choosing: docs/json.md, "Target".
type Place struct {
	Session      string   `json:"session,omitempty"`       // -s: a session's name
	Window       string   `json:"window,omitempty"`        // -w: a window's name, full id, or unique id prefix of 4 characters or more
	Dir          string   `json:"dir,omitempty"`           // the caller's directory, absolute
	PaneID       string   `json:"pane_id,omitempty"`       // TURNBACK_PANE_ID of the caller, if any
	TerminalKeys []string `json:"terminal_keys,omitempty"` // keys of the caller's terminal, best first (package terminal)
	Ancestors    []int    `json:"ancestors,omitempty"`     // the caller's parent process, that one's parent, and so on
}

// Pane names a window in a result.
type Pane struct {
	Session  string `json:"session"`
	Window   string `json:"window"`   // the window's name
	Pane     string `json:"pane"`     // the window's id, 8 hexadecimal digits
	Worktree string `json:"worktree"` // absolute path of the work tree's root
}

// WindowInfo is one window of `turnback ls`.
type WindowInfo struct {
	Name     string    `json:"name"`
	ID       string    `json:"id"`
	Session  string    `json:"session"`
	State    string    `json:"state"`
	Worktree string    `json:"worktree"`
	Agent    string    `json:"agent,omitempty"`
	Turn     int       `json:"turn"`      // the open or newest turn's number; 0: none yet
	TurnOpen bool      `json:"turn_open"` // a turn is open now
	Since    time.Time `json:"since"`     // when State was taken on
	Gone     bool      `json:"gone,omitempty"`
}

// ListWindowsResult is the result of list-windows.
type ListWindowsResult struct {
	Windows []WindowInfo `json:"windows"`
}
