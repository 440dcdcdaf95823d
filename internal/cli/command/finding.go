package command

// Finding is one thing that doctor looked at.
type Finding struct {
	What  string `json:"what"`           // git, daemon, claude hooks, ...
	Level string `json:"level"`          // ok, note, warning, problem
	Text  string `json:"text"`           // one sentence, lower case, no full stop
	Hint  string `json:"hint,omitempty"` // what to do about it
}

// The levels of a finding. A problem makes doctor fail.
const (
	LevelOK      = "ok"
	LevelNote    = "note"
	LevelWarning = "warning"
	LevelProblem = "problem"
)
