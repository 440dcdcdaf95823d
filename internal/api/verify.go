package api

// VerifyCheckpointsParams are the parameters of verify-checkpoints and
// mend-checkpoints.
type VerifyCheckpointsParams struct {
	Place
	Full bool `json:"full,omitempty"` // read every object whole; takes as long as git fsck
}

// VerifyFinding is one thing that is not as it should be.
type VerifyFinding struct {
	Severity string `json:"severity"` // broken (git's own commands fail), damaged, leftover, note
	Ref      string `json:"ref,omitempty"`
	Pane     string `json:"pane,omitempty"`
	N        int    `json:"n,omitempty"`
	File     string `json:"file,omitempty"`    // absolute
	What     string `json:"what"`              // one clause, lower case
	Mend     string `json:"mend,omitempty"`    // what mend-checkpoints does about it; absent: nothing
	Command  string `json:"command,omitempty"` // a command line that helps
	Mended   bool   `json:"mended,omitempty"`
	Failed   string `json:"failed,omitempty"` // why it could not be mended
}

// VerifyCheckpointsResult is the result of verify-checkpoints and
// mend-checkpoints, over all panes of the repository.
type VerifyCheckpointsResult struct {
	Worktree    string          `json:"worktree"`
	OK          bool            `json:"ok"` // nothing is broken or damaged, or what was is mended
	Checkpoints int             `json:"checkpoints"`
	Panes       int             `json:"panes"`
	Objects     int             `json:"objects"`  // looked at
	Findings    []VerifyFinding `json:"findings"` // the worst first
	Untrusted   bool            `json:"untrusted"`
}
