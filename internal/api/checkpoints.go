package api

import "time"

// Base is what a turn started from.
type Base struct {
	Name string `json:"name"` // "checkpoint 2", "HEAD 1a2b3c4", "the work tree after restoring 1", "an empty tree"
	Head string `json:"head"` // commit id; empty on an unborn branch
	Tree string `json:"tree"`
}

// LeftOut is a path that a checkpoint does not hold.
type LeftOut struct {
	Path       string `json:"path"`                  // relative to the root
	PathBase64 string `json:"path_base64,omitempty"` // set when Path is not UTF-8
	Reason     string `json:"reason"`                // too large, unreadable, submodule, nested repository, filter, not a regular file
}

// Checkpoint is the saved state of a work tree.
type Checkpoint struct {
	N            int       `json:"n"`
	Ref          string    `json:"ref"`
	Commit       string    `json:"commit"`
	Tree         string    `json:"tree"`
	Head         string    `json:"head"` // empty on an unborn branch
	Base         *Base     `json:"base,omitempty"`
	Kind         string    `json:"kind"` // turn, start, safety, manual, conversation
	Pane         string    `json:"pane"`
	Window       string    `json:"window"`
	Session      string    `json:"session"`
	Turn         int       `json:"turn"`
	State        string    `json:"state"` // empty for a start
	Label        string    `json:"label"`
	Worktree     string    `json:"worktree"`
	At           time.Time `json:"at"` // UTC
	Agent        string    `json:"agent,omitempty"`
	AgentSession string    `json:"agent_session,omitempty"`
	LeftOut      []LeftOut `json:"left_out"` // the first 20
	LeftOutCount int       `json:"left_out_count"`
	Late         bool      `json:"late"`
	// Uncertain are files that changed after the agent was let go and before they
	// were saved: the first 20.
	Uncertain      []KeptItem `json:"uncertain,omitempty"`
	UncertainCount int        `json:"uncertain_count,omitempty"`
	Damaged        string     `json:"damaged,omitempty"` // why it cannot be restored
	// Dropped and Until are set in the trash: since when it is there, and when it
	// goes for good. UTC.
	Dropped *time.Time `json:"dropped,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
}

// NotSaved is a turn without a checkpoint, with the reason.
type NotSaved struct {
	Pane   string    `json:"pane"`
	Turn   int       `json:"turn"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// ListCheckpointsParams are the parameters of list-checkpoints.
type ListCheckpointsParams struct {
	Place
	All   bool `json:"all,omitempty"`   // every pane of the repository, the gone ones too
	Trash bool `json:"trash,omitempty"` // those that were dropped and can come back
}

// ListCheckpointsResult is the result of list-checkpoints: one flat list,
// oldest first, also with All.
type ListCheckpointsResult struct {
	Pane                     // the target; with All only Worktree is set
	Enabled     bool         `json:"enabled"`               // false: no checkpoints are taken
	Notice      string       `json:"notice,omitempty"`      // why none can be taken here (not a git work tree)
	Interrupted string       `json:"interrupted,omitempty"` // a restore was killed in this work tree; what to run
	Checkpoints []Checkpoint `json:"checkpoints"`
	NotSaved    []NotSaved   `json:"not_saved"`
	Untrusted   bool         `json:"untrusted"`
}

// ShowCheckpointParams are the parameters of show-checkpoint.
type ShowCheckpointParams struct {
	Place
	N int `json:"n"`
}

// ShowCheckpointResult is the result of show-checkpoint. LeftOutAll is the
// complete list; the checkpoint itself holds the first 20.
type ShowCheckpointResult struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	LeftOutAll []LeftOut  `json:"left_out_all"`
	Kept       []Kept     `json:"kept"`      // what is kept beside the tree
	Uncertain  []KeptItem `json:"uncertain"` // files that changed after the agent was let go and before they were saved
	With       []TurnID   `json:"with"`      // turns of other panes that were open at the same time
	Named      []KeptItem `json:"named"`     // files that the turn's own tools named, where there were others
	Transcript string     `json:"transcript,omitempty"`
	// Interrupted is as in ListCheckpointsResult.
	Interrupted string `json:"interrupted,omitempty"`
	Untrusted   bool   `json:"untrusted"`
}

// Kept is one kind of what is kept beside the tree of a checkpoint.
type Kept struct {
	What  string     `json:"what"` // raw, crlf, modes, folders, rules, index, lfs, overwritten
	Count int        `json:"count"`
	Items []KeptItem `json:"items"` // the first 1,000
}

// KeptItem is one of it.
type KeptItem struct {
	Path       string `json:"path"`                  // relative to the root; of rules the file's name, of lfs the OID
	PathBase64 string `json:"path_base64,omitempty"` // set when Path is not UTF-8
	Detail     string `json:"detail,omitempty"`      // permission bits, say
}

// TurnID names a turn of a pane.
type TurnID struct {
	Pane string `json:"pane"`
	Turn int    `json:"turn"`
}

// CheckpointDiffParams are the parameters of checkpoint-diff. With neither N
// nor From/To the newest checkpoint is meant.
type CheckpointDiffParams struct {
	Place
	N        int      `json:"n,omitempty"`
	From     int      `json:"from,omitempty"` // with To: compare two checkpoints
	To       int      `json:"to,omitempty"`
	Worktree bool     `json:"worktree,omitempty"` // compare N with the disk now
	Paths    []string `json:"paths,omitempty"`    // literal, relative to the root
	// PathsBase64 are more paths, their bytes in base64: for those that are not UTF-8.
	PathsBase64 []string `json:"paths_base64,omitempty"`
	Stat        bool     `json:"stat,omitempty"`    // no hunks
	Context     *int     `json:"context,omitempty"` // 0 to 20, default 3
	Binary      bool     `json:"binary,omitempty"`  // binary files as patches that git apply takes
}

// FileDiff is one file of a diff.
type FileDiff struct {
	Status  string `json:"status"` // A, M, D, R, T
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"` // R: the name before

	PathBase64    string `json:"path_base64,omitempty"`     // set when Path is not UTF-8
	OldPathBase64 string `json:"old_path_base64,omitempty"` // set when OldPath is not UTF-8

	Added     int  `json:"added"`
	Deleted   int  `json:"deleted"`
	Binary    bool `json:"binary,omitempty"`
	Submodule bool `json:"submodule,omitempty"`
	BytesOnly bool `json:"bytes_only,omitempty"`
	Cut       bool `json:"cut,omitempty"` // its hunks are not in the patch, a limit was reached
}

// CheckpointDiffResult is the result of checkpoint-diff. Totals cover the whole
// diff, also when the patch was cut.
type CheckpointDiffResult struct {
	Pane
	Subject  string     `json:"subject"` // "Checkpoint 2", "Checkpoints 1..3"
	Against  string     `json:"against"` // "checkpoint 1", "HEAD 1a2b3c4", "the work tree now"
	Files    []FileDiff `json:"files"`
	Added    int        `json:"added"`
	Deleted  int        `json:"deleted"`
	Patch    string     `json:"patch,omitempty"`
	PatchB64 string     `json:"patch_base64,omitempty"` // set when the patch is not UTF-8
	Cut      bool       `json:"cut,omitempty"`
	Note     string     `json:"note,omitempty"` // base of turn N was pruned
	// Interrupted is as in ListCheckpointsResult.
	Interrupted string `json:"interrupted,omitempty"`
	Untrusted   bool   `json:"untrusted"`
}

// RestoreCheckpointParams are the parameters of restore-checkpoint.
type RestoreCheckpointParams struct {
	Place
	N     int      `json:"n"`
	Paths []string `json:"paths,omitempty"`
	// PathsBase64 are more paths, their bytes in base64: for those that are not UTF-8.
	PathsBase64 []string `json:"paths_base64,omitempty"`
	DryRun      bool     `json:"dry_run,omitempty"`
	Force       bool     `json:"force,omitempty"` // also while an agent works in the tree
	Here        bool     `json:"here,omitempty"`  // also when taken in another work tree or on another branch
	// Of files that other panes' turns changed since: Mine puts back this pane's
	// alone, AllPanes all.
	Mine     bool `json:"mine,omitempty"`
	AllPanes bool `json:"all_panes,omitempty"`
	// Overwrite writes over files that git ignores; the safety checkpoint holds them.
	Overwrite bool `json:"overwrite,omitempty"`
	// Staged puts back the index and nothing else. It goes with none of the three
	// above.
	Staged bool `json:"staged,omitempty"`
	// Conversation puts the agent's conversation back to the end of the turn too:
	// both or none. ConversationOnly puts it back without the files. Neither goes
	// with Staged.
	Conversation     bool `json:"conversation,omitempty"`
	ConversationOnly bool `json:"conversation_only,omitempty"`
}

// RevertCheckpointParams are the parameters of revert-checkpoint.
type RevertCheckpointParams struct {
	Place
	N     int      `json:"n"`
	Paths []string `json:"paths,omitempty"`
	// PathsBase64 are more paths, their bytes in base64: for those that are not UTF-8.
	PathsBase64 []string `json:"paths_base64,omitempty"`
	DryRun      bool     `json:"dry_run,omitempty"`
	Force       bool     `json:"force,omitempty"` // also while an agent works in the tree
	Here        bool     `json:"here,omitempty"`  // also when taken in another work tree or on another branch
	// Of files that other panes' turns changed at the same time: Mine takes back this
	// pane's changes alone, AllPanes all.
	Mine      bool `json:"mine,omitempty"`
	AllPanes  bool `json:"all_panes,omitempty"`
	Overwrite bool `json:"overwrite,omitempty"` // as in RestoreCheckpointParams
}

// FinishRestoreParams are the parameters of continue-restore and abort-restore.
type FinishRestoreParams struct {
	Place
	Force bool `json:"force,omitempty"`
}

// UndoParams are the parameters of undo and redo.
type UndoParams struct {
	Place
	DryRun    bool `json:"dry_run,omitempty"`
	Force     bool `json:"force,omitempty"`
	Here      bool `json:"here,omitempty"`
	Mine      bool `json:"mine,omitempty"`      // as in RestoreCheckpointParams
	AllPanes  bool `json:"all_panes,omitempty"` // as in RestoreCheckpointParams
	Overwrite bool `json:"overwrite,omitempty"` // as in RestoreCheckpointParams
	// Of what was edited since: KeepEdits keeps it, by a merge; DiscardEdits leaves
	// it to the safety checkpoint.
	KeepEdits    bool `json:"keep_edits,omitempty"`
	DiscardEdits bool `json:"discard_edits,omitempty"`
}

// RestoreResult is the result of restore-checkpoint, revert-checkpoint, undo,
// redo, continue-restore and abort-restore.
type RestoreResult struct {
	Pane
	N       int      `json:"n,omitempty"`    // the checkpoint restored or reverted
	Turn    int      `json:"turn,omitempty"` // undo, redo, revert: the turn taken back or put back
	Action  string   `json:"action"`         // restore, revert, undo, redo, continue, abort
	DryRun  bool     `json:"dry_run,omitempty"`
	Safety  int      `json:"safety,omitempty"` // the safety checkpoint; 0 in a dry run
	Written []string `json:"written"`
	Removed []string `json:"removed"`
	// Staged tells that the index was restored and nothing else: Written and Removed
	// are its entries.
	Staged bool `json:"staged,omitempty"`
	// Overwritten are files that git ignores and that were written over, or removed
	// because they stood in the way. The safety checkpoint holds them.
	Overwritten []string `json:"overwritten,omitempty"`
	Kept        []string `json:"kept"`    // files that N could not have known
	Skipped     []string `json:"skipped"` // submodules, nested repositories, left-out paths, and with mine those of which nobody can tell whose they are
	// Uncertain are files that may be of a later time than the turn: they changed
	// after the agent was let go and before they were saved.
	Uncertain []string `json:"uncertain,omitempty"`
	// PathsBase64 gives the bytes of those paths above that are not UTF-8, by how
	// they stand there.
	PathsBase64 map[string]string `json:"paths_base64,omitempty"`
	HeadHolds   string            `json:"head_holds,omitempty"` // undo: a commit of the turn that HEAD still holds
	More        bool              `json:"more"`                 // undo, redo: there is a further step
	// Conversation is the conversation that was put back too; in a dry run the one
	// that would be.
	Conversation *ConversationBack `json:"conversation,omitempty"`
	// ConversationOnly tells that it was put back and no file.
	ConversationOnly bool     `json:"conversation_only,omitempty"`
	Notes            []string `json:"notes,omitempty"`
	Untrusted        bool     `json:"untrusted"`
}

// ConversationBack is an agent's conversation as a restore put it back: the same
// session at an earlier entry, or a copy of it that ends there.
type ConversationBack struct {
	Agent   string `json:"agent"`
	Session string `json:"session,omitempty"` // to go on with; empty in a dry run of a copy
	From    string `json:"from"`              // the session that the checkpoint names
	Copy    bool   `json:"copy,omitempty"`    // session is a copy of from, which stays as it is
	Kept    bool   `json:"kept,omitempty"`    // from the copy that turnback keeps: the agent's own transcript has gone
	Entry   string `json:"entry,omitempty"`   // the entry that it ends with now
	Left    string `json:"left,omitempty"`    // the entry that it ended with before, which can be gone back to
	Resume  string `json:"resume,omitempty"`  // the command that goes on with it
}

// SaveCheckpointParams are the parameters of save-checkpoint.
type SaveCheckpointParams struct {
	Place
	Label string `json:"label,omitempty"`
	// Conversation: it goes with a checkpoint of the agent's conversation, and
	// counts apart from those that are saved by hand.
	Conversation bool `json:"conversation,omitempty"`
}

// SaveCheckpointResult is the result of save-checkpoint.
type SaveCheckpointResult struct {
	Pane
	Checkpoint Checkpoint `json:"checkpoint"`
	// Interrupted is as in ListCheckpointsResult.
	Interrupted string `json:"interrupted,omitempty"`
}

// DropCheckpointsParams are the parameters of drop-checkpoints.
type DropCheckpointsParams struct {
	Place
	Ns  []int `json:"ns"`
	Now bool  `json:"now,omitempty"` // not to the trash; those that are in it too
}

// DropCheckpointsResult is the result of drop-checkpoints and prune-checkpoints.
type DropCheckpointsResult struct {
	Dropped []DroppedCheckpoint `json:"dropped"`
	DryRun  bool                `json:"dry_run,omitempty"`
}

// DroppedCheckpoint names a checkpoint that was let go of. One that is not in the
// trash can still be reached by its commit (`git branch NAME COMMIT`) until git's
// own gc takes it.
type DroppedCheckpoint struct {
	Pane   string `json:"pane"`
	N      int    `json:"n"`
	Commit string `json:"commit"`
	Label  string `json:"label"`
	Trash  bool   `json:"trash,omitempty"` // it is in the trash, and can come back
}

// UntrashCheckpointsParams are the parameters of untrash-checkpoints.
type UntrashCheckpointsParams struct {
	Place
	Ns []int `json:"ns"`
}

// UntrashCheckpointsResult is the result of untrash-checkpoints.
type UntrashCheckpointsResult struct {
	Pane
	Checkpoints []Checkpoint `json:"checkpoints"` // as they are again
	Untrusted   bool         `json:"untrusted"`
}

// CheckpointStatsParams are the parameters of checkpoint-stats.
type CheckpointStatsParams struct{ Place }

// CheckpointStatsResult is the result of checkpoint-stats: bytes on the disk that
// turnback keeps in the repository and that no branch, tag, reflog or index needs.
type CheckpointStatsResult struct {
	Worktree   string      `json:"worktree"`
	Bytes      int64       `json:"bytes"`       // of all together, file_bytes apart
	Panes      []PaneStats `json:"panes"`       // by id; what several hold counts for each
	Trashed    int         `json:"trashed"`     // checkpoints in the trash
	TrashBytes int64       `json:"trash_bytes"` // of these, also where a pane holds it too
	FileBytes  int64       `json:"file_bytes"`  // turnback's own files in the git directory
	Untrusted  bool        `json:"untrusted"`
}

// PaneStats are what one pane holds.
type PaneStats struct {
	Pane        string `json:"pane"`
	Session     string `json:"session"`
	Window      string `json:"window"`
	Checkpoints int    `json:"checkpoints"`
	Bytes       int64  `json:"bytes"`
}

// PruneCheckpointsParams are the parameters of prune-checkpoints.
type PruneCheckpointsParams struct {
	Place
	OlderThan string `json:"older_than,omitempty"` // 30d, 12h, 90m; empty: retention only
	DryRun    bool   `json:"dry_run,omitempty"`
}

// BranchCheckpointParams are the parameters of branch-checkpoint.
type BranchCheckpointParams struct {
	Place
	N    int    `json:"n"`
	Name string `json:"name"`
}

// BranchCheckpointResult is the result of branch-checkpoint.
type BranchCheckpointResult struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Parent string `json:"parent,omitempty"`
}
