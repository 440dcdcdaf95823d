package api

// PurgeCheckpointsParams are the parameters of purge-checkpoints: Path, or
// PathBase64 for a name that is not UTF-8.
type PurgeCheckpointsParams struct {
	Place
	Path       string `json:"path,omitempty"`        // literal, relative to the root: a file, or a folder with all in it
	PathBase64 string `json:"path_base64,omitempty"` // its bytes in base64
	Now        bool   `json:"now,omitempty"`         // remove the objects too, as far as nothing can reach them
	DryRun     bool   `json:"dry_run,omitempty"`
	Force      bool   `json:"force,omitempty"` // also while an agent works in the tree
}

// PurgeCheckpointsResult is the result of purge-checkpoints.
type PurgeCheckpointsResult struct {
	Worktree   string             `json:"worktree"`
	Path       string             `json:"path"`
	PathBase64 string             `json:"path_base64,omitempty"` // set when Path is not UTF-8
	DryRun     bool               `json:"dry_run,omitempty"`
	Rewritten  []PurgedCheckpoint `json:"rewritten"` // without the path now, under the same number
	Dropped    []PurgedCheckpoint `json:"dropped"`   // damaged, and with the path in their tree
	Unknown    []PurgedCheckpoint `json:"unknown"`   // so damaged that nobody can tell; they stay
	Files      int                `json:"files"`     // different contents that were at the path
	Still      []StillReachable   `json:"still"`     // where some of them can be reached yet
	OnDisk     bool               `json:"on_disk"`   // something is at the path on disk
	Removed    int                `json:"removed"`   // now: objects removed
	HeldBy     []string           `json:"held_by"`   // now: unreachable commits of the person's that hold some of it
	Left       int                `json:"left"`      // now: objects that could not be removed
	// Transcripts are the copies of transcripts that may hold something of the path,
	// removed whole.
	Transcripts []PurgedTranscript `json:"transcripts"`
	// Conversations stay, and may hold something of the path: sessions of turnback's
	// own agent, and goals and reports of others. conversation-purge removes one.
	Conversations []PurgedTranscript `json:"conversations"`
	Untrusted     bool               `json:"untrusted"`
}

// PurgedCheckpoint names a checkpoint that a purge was about.
type PurgedCheckpoint struct {
	Pane   string `json:"pane"`
	N      int    `json:"n"`
	Commit string `json:"commit"`
	Label  string `json:"label"`
}

// PurgedTranscript names a copy of an agent's transcript that a purge was about.
type PurgedTranscript struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
}

// StillReachable is a place from which purged contents can be reached.
type StillReachable struct {
	Where string `json:"where"` // branches and tags, reflogs, the index, ...
	Files int    `json:"files"` // how many contents
}
