package text

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/screen"
)

// now is noon in a zone that is not UTC, so that a time printed in the wrong
// zone shows.
func now() time.Time {
	return time.Date(2026, 11, 30, 18, 0, 0, 0, time.FixedZone("somewhere", 3*3600))
}

func format() Format { return Format{Now: now(), QuoteAll: true} }

func today(hour, minute, second int) time.Time {
	return time.Date(2026, 11, 30, hour, minute, second, 0, now().Location()).UTC()
}

func pane() api.Pane {
	return api.Pane{Session: "api-feat-retry", Window: "build", Pane: "00d333ce", Worktree: "/home/u/src/api"}
}

func sample() api.ListCheckpointsResult {
	cp := func(n, turn int, kind, label, commit string, at time.Time) api.Checkpoint {
		return api.Checkpoint{
			N: n, Turn: turn, Kind: kind, State: "done", Label: label, Commit: commit, At: at,
			Pane: "00d333ce", Session: "api-feat-retry", Window: "build",
		}
	}
	return api.ListCheckpointsResult{Pane: pane(), Enabled: true, Checkpoints: []api.Checkpoint{
		cp(1, 1, "turn", "Add a retry to the client", "a6752d3000000000000000000000000000000000", today(14, 2, 56)),
		cp(2, 2, "turn", "Make the backoff configurable", "992c80e000000000000000000000000000000000", today(14, 9, 58)),
		cp(3, 4, "safety", "before restoring checkpoint 1", "3de15e5000000000000000000000000000000000", today(14, 12, 8)),
	}}
}

func check(t *testing.T, want string, write func(w *strings.Builder) error) {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestListIsTheSampleOfTheSpecification(t *testing.T) {
	check(t, `
Checkpoints of api-feat-retry, pane 00d333ce, in /home/u/src/api: 3
N  TURN  STATE  TAKEN     COMMIT   LABEL
1  1     done   14:02:56  a6752d3  Add a retry to the client
2  2     done   14:09:58  992c80e  Make the backoff configurable
3  4     done   14:12:08  3de15e5  safety: before restoring checkpoint 1
`, func(w *strings.Builder) error { return format().List(w, sample(), false) })
}

func TestListTellsEverythingBelowTheTable(t *testing.T) {
	r := sample()
	r.Checkpoints = r.Checkpoints[:2]
	r.Checkpoints[0].At = time.Date(2026, 11, 29, 11, 2, 0, 0, time.UTC)
	r.Checkpoints[1].Kind, r.Checkpoints[1].State, r.Checkpoints[1].Label = "start", "", ""
	r.Checkpoints[1].LeftOut = []api.LeftOut{
		{Path: "big.bin", Reason: "too large"},
		{Path: "inner", Reason: "nested repository"},
		{Path: "a\ufffd", PathBase64: "Yf8=", Reason: "unreadable"},
	}
	r.Checkpoints[1].LeftOutCount = 6
	r.Checkpoints[1].Damaged = "tree 1234567 is missing"
	r.NotSaved = []api.NotSaved{
		{Turn: 5, Reason: "git add: exit status 128"},
		{Turn: 6, Reason: "not covered: inner"},
		{Turn: 7, Reason: "saved together with turn 8"},
	}
	r.Enabled = false
	r.Interrupted = "a restore of checkpoint 1 was killed here"
	check(t, `
Checkpoints of api-feat-retry, pane 00d333ce, in /home/u/src/api: 2
N  TURN  STATE  TAKEN         COMMIT   LABEL
1  1     done   Nov 29 14:02  a6752d3  Add a retry to the client
2  2     -      14:09:58      992c80e  start: -
checkpoint 2 left out: big.bin (too large), inner (nested repository), "a\377" (unreadable) and 3 more
checkpoint 2 is damaged: tree 1234567 is missing
turn 5 not saved: git add: exit status 128
turn 6 not covered: inner
turn 7 saved together with turn 8
Checkpoints are off: enabled = false in [agents.checkpoints] of the configuration.
a restore of checkpoint 1 was killed here
`, func(w *strings.Builder) error { return format().List(w, r, false) })
}

func TestListOfAllPanesNamesThem(t *testing.T) {
	r := sample()
	r.Checkpoints[1].Pane, r.Checkpoints[1].Window = "11112222", "claude"
	r.Pane = api.Pane{Worktree: "/home/u/src/api"}
	r.NotSaved = []api.NotSaved{{Pane: "11112222", Turn: 5, Reason: "disk nearly full"}}
	check(t, `
Checkpoints of all panes, in /home/u/src/api: 3
PANE      SESSION         WINDOW  N  TURN  STATE  TAKEN     COMMIT   LABEL
00d333ce  api-feat-retry  build   1  1     done   14:02:56  a6752d3  Add a retry to the client
11112222  api-feat-retry  claude  2  2     done   14:09:58  992c80e  Make the backoff configurable
00d333ce  api-feat-retry  build   3  4     done   14:12:08  3de15e5  safety: before restoring checkpoint 1
pane 11112222: turn 5 not saved: disk nearly full
`, func(w *strings.Builder) error { return format().List(w, r, true) })
}

func TestListWithoutCheckpoints(t *testing.T) {
	for name, tc := range map[string]struct {
		result api.ListCheckpointsResult
		want   string
	}{
		"of a pane":      {api.ListCheckpointsResult{Pane: pane(), Enabled: true}, "No checkpoints of api-feat-retry, pane 00d333ce, in /home/u/src/api yet.\n"},
		"of a work tree": {api.ListCheckpointsResult{Pane: api.Pane{Worktree: "/w"}, Enabled: true}, "No checkpoints in /w yet.\n"},
		"outside git":    {api.ListCheckpointsResult{Pane: pane(), Enabled: true, Notice: "not a git work tree"}, "No checkpoints: not a git work tree\n"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.want, func(w *strings.Builder) error { return format().List(w, tc.result, false) })
		})
	}
}

func diffSample() api.CheckpointDiffResult {
	return api.CheckpointDiffResult{
		Pane: pane(), Subject: "Checkpoint 2", Against: "checkpoint 1", Added: 2, Deleted: 1,
		Files: []api.FileDiff{
			{Status: "M", Path: "a.txt", Added: 1, Deleted: 1},
			{Status: "M", Path: "b.txt", Added: 1},
		},
		Patch: "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\x1b[2J\n",
	}
}

func TestDiffStatIsTheSampleOfTheSpecification(t *testing.T) {
	check(t, `
Checkpoint 2 of api-feat-retry, pane 00d333ce, against checkpoint 1: 2 files, +2 -1
M  a.txt  +1 -1
M  b.txt  +1 -0
`, func(w *strings.Builder) error { return format().Diff(w, diffSample(), true, screen.PatchStyle{}) })
}

func TestDiffStatOfEveryKindOfChange(t *testing.T) {
	r := diffSample()
	r.Note = "base of turn 2 was pruned"
	r.Files = []api.FileDiff{
		{Status: "R", Path: "new name", OldPath: "old\tname"},
		{Status: "A", Path: "img.png", Binary: true},
		{Status: "M", Path: "vendored", Submodule: true},
		{Status: "M", Path: "long.txt", Added: 9000, Deleted: 1, Cut: true},
		{Status: "D", Path: "ü"},
	}
	check(t, `
Checkpoint 2 of api-feat-retry, pane 00d333ce, against checkpoint 1: 5 files, +2 -1
base of turn 2 was pruned
R  "old\tname" -> new name  +0 -0
A  img.png                  binary
M  vendored                 submodule
M  long.txt                 +9000 -1   cut
D  "\303\274"               +0 -0
`, func(w *strings.Builder) error { return format().Diff(w, r, true, screen.PatchStyle{}) })
}

func TestDiffPatchIsWrittenByteForByteUnlessForATerminal(t *testing.T) {
	head := "Checkpoint 2 of api-feat-retry, pane 00d333ce, against checkpoint 1: 2 files, +2 -1\n"
	r := diffSample()
	check(t, head+r.Patch, func(w *strings.Builder) error { return format().Diff(w, r, false, screen.PatchStyle{}) })
	check(t, head+strings.ReplaceAll(r.Patch, "\x1b", "^["), func(w *strings.Builder) error {
		return format().Diff(w, r, false, screen.PatchStyle{Visible: true})
	})
	r.PatchB64 = "//4="
	check(t, head+"\xff\xfe", func(w *strings.Builder) error { return format().Diff(w, r, false, screen.PatchStyle{}) })
}

func TestDiffNamesWhatThePatchDoesNotHold(t *testing.T) {
	r := diffSample()
	r.Files[1].Cut = true
	check(t, `
Checkpoint 2 of api-feat-retry, pane 00d333ce, against checkpoint 1: 2 files, +2 -1
M  b.txt  +1 -0  cut
`+r.Patch, func(w *strings.Builder) error { return format().Diff(w, r, false, screen.PatchStyle{}) })
}

func TestRestoreIsTheSampleOfTheSpecification(t *testing.T) {
	r := api.RestoreResult{Pane: pane(), N: 1, Action: "restore", Safety: 3, Written: []string{"a.txt", "b.txt"}}
	check(t, `
Restored checkpoint 1 in api-feat-retry, pane 00d333ce: 2 files written, 0 removed.
Checkpoint 3 holds the work tree as it was before. To undo, run: turnback checkpoint restore -s api-feat-retry -w 00d333ce 3
`, func(w *strings.Builder) error { return format().Restore(w, r) })
}

func TestRestoreTellsWhatItLeftAlone(t *testing.T) {
	many := make([]string, 25)
	for i := range many {
		many[i] = "f"
	}
	r := api.RestoreResult{
		Pane: pane(), N: 1, Action: "restore", Safety: 3, Written: []string{"a.txt"}, Removed: []string{"x", "y"},
		Kept: []string{"new\nline"}, Skipped: many, HeadHolds: "1a2b3c4", Notes: []string{"a note\x1b"},
	}
	r.Session = "it's"
	check(t, `
Restored checkpoint 1 in it's, pane 00d333ce: 1 file written, 2 removed.
Checkpoint 3 holds the work tree as it was before. To undo, run: turnback checkpoint restore -s 'it'\''s' -w 00d333ce 3
kept: unknown to checkpoint 1: "new\nline"
skipped: `+strings.Repeat("f, ", 19)+`f and 5 more
HEAD still holds 1a2b3c4.
a note^[
`, func(w *strings.Builder) error { return format().Restore(w, r) })
}

func TestARestoreOfTheIndexSaysSo(t *testing.T) {
	r := api.RestoreResult{Pane: pane(), N: 1, Action: "restore", Staged: true, Safety: 3, Written: []string{"a.txt"}}
	check(t, `
Restored the index of checkpoint 1 in api-feat-retry, pane 00d333ce: 1 entry written, 0 removed.
Checkpoint 3 holds the index as it was before. To undo, run: turnback checkpoint restore -s api-feat-retry -w 00d333ce --staged 3
`, func(w *strings.Builder) error { return format().Restore(w, r) })
}

func TestListNamesWhatALateSaveIsUncertainOf(t *testing.T) {
	r := api.ListCheckpointsResult{Pane: pane(), Enabled: true, Checkpoints: []api.Checkpoint{{
		N: 2, Turn: 2, State: "done", At: today(14, 0, 0), Commit: "1a2b3c4d", Label: "l", Late: true,
		Uncertain: []api.KeptItem{{Path: "b c"}, {Path: "a"}}, UncertainCount: 30,
	}}}
	var w strings.Builder
	if err := format().List(&w, r, false); err != nil {
		t.Fatal(err)
	}
	want := "checkpoint 2 was saved late: it may hold edits of the next turn\ncheckpoint 2 uncertain, changed after the agent was let go: b c, a and 28 more\n"
	if !strings.HasSuffix(w.String(), want) {
		t.Errorf("list is\n%s\nand should end in\n%s", w.String(), want)
	}
}

func TestUndoAndRedoTellWhereTheyEnd(t *testing.T) {
	r := api.RestoreResult{Pane: pane(), N: 1, Turn: 2, Action: "undo", Safety: 3, Written: []string{"a.txt"}, More: true}
	check(t, `
Took back turn 2 in api-feat-retry, pane 00d333ce: 1 file written, 0 removed.
Checkpoint 3 holds the work tree as it was before. To put the turn back, run: turnback redo -s api-feat-retry -w 00d333ce
`, func(w *strings.Builder) error { return format().Restore(w, r) })
	r.Action, r.More = "redo", false
	check(t, `
Put back turn 2 in api-feat-retry, pane 00d333ce: 1 file written, 0 removed.
Checkpoint 3 holds the work tree as it was before. To take the turn back, run: turnback undo -s api-feat-retry -w 00d333ce
No further turn to redo.
`, func(w *strings.Builder) error { return format().Restore(w, r) })
}

func TestDryRunListsWhatWouldHappen(t *testing.T) {
	r := api.RestoreResult{
		Pane: pane(), N: 1, Action: "restore", DryRun: true, Written: []string{"a.txt"}, Removed: []string{"b c"}, Kept: []string{"d"},
	}
	check(t, `
Restoring checkpoint 1 in api-feat-retry, pane 00d333ce would write 1 file and remove 1. Nothing was changed.
write   a.txt
remove  b c
kept: unknown to checkpoint 1: d
`, func(w *strings.Builder) error { return format().Restore(w, r) })
}

func TestSetStatePrintsWhatBecameOfTheSave(t *testing.T) {
	for name, tc := range map[string]struct {
		result api.SetAgentStateResult
		want   string
	}{
		"saved":     {api.SetAgentStateResult{Applied: true, State: "done", Checkpoint: &api.Checkpoint{N: 1}}, "checkpoint 1 saved\n"},
		"unchanged": {api.SetAgentStateResult{Applied: true, State: "done", Unchanged: true}, "nothing changed\n"},
		"pending":   {api.SetAgentStateResult{Applied: true, State: "done", Pending: true}, "still saving\n"},
		"not saved": {api.SetAgentStateResult{Applied: true, State: "done", NotSaved: "disk nearly full"}, "not saved: disk nearly full\n"},
		"not due":   {api.SetAgentStateResult{Applied: true, State: "working"}, ""},
		"lost":      {api.SetAgentStateResult{State: "needs_input"}, "not applied: needs_input stands\n"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, tc.want, func(w *strings.Builder) error { return format().SetState(w, tc.result) })
		})
	}
}

func TestWindowsAreATree(t *testing.T) {
	r := api.ListWindowsResult{Windows: []api.WindowInfo{
		{Name: "build", ID: "00d333ce", Session: "api", State: "working", Turn: 2, TurnOpen: true, Worktree: "/src/api"},
		{Name: "x", ID: "22222222", Session: "web", State: "none", Worktree: "/src/web", Gone: true},
		{Name: "claude", ID: "1a2b3c4d", Session: "api", State: "done", Turn: 14, Worktree: "/src/api"},
	}}
	check(t, `
api
  build   00d333ce  ● working  turn 2 open  /src/api
  claude  1a2b3c4d  ■ done     turn 14      /src/api
web
  x       22222222    gone     no turn      /src/web
`, func(w *strings.Builder) error { return format().Windows(w, r) })
}

func TestErrorHasItsHintOnOneLine(t *testing.T) {
	e := api.Errorf(api.CodeNoCheckpoint, "there is no checkpoint 9").WithHint(api.Hint{
		Available: []string{"1", "2"}, Command: "turnback checkpoint list -w build",
	})
	got := format().Error(e)
	want := "turnback: there is no checkpoint 9\nhint: available: 1, 2; run: turnback checkpoint list -w build\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e = api.Errorf(api.CodeInvalidParams, "bad\x1b]0;x\a").WithHint(api.Hint{
		Detail: "look here", DidYouMean: "build", Accepted: []string{"a b"},
	})
	want = "turnback: bad^[]0;x^G\nhint: look here; did you mean build?; accepted: a b\n"
	if got := format().Error(e); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVerbsShowTheirPlaceAsOneParameter(t *testing.T) {
	r := api.ListVerbsResult{Verbs: []api.VerbInfo{
		{Name: "status", Grant: "read", Summary: "Show the daemon."},
		{Name: "show-checkpoint", Grant: "read", Summary: "Show one.", Params: []api.Field{
			{Name: "session", Optional: true}, {Name: "window", Optional: true}, {Name: "dir", Optional: true}, {Name: "n"},
		}},
		{Name: "agent-report", Summary: "Report.", Params: []api.Field{{Name: "event"}}},
	}}
	check(t, `
VERB             GRANT  SUMMARY           PARAMETERS
status           read   Show the daemon.  -
show-checkpoint  read   Show one.         [PLACE] n
agent-report     -      Report.           event
`, func(w *strings.Builder) error { return format().Verbs(w, r) })
}

func TestStatusTellsWhatIsWrong(t *testing.T) {
	r := api.StatusResult{
		Version: "1.2.3", PID: 7, Socket: "/run/s", Started: today(9, 0, 0), Git: api.GitInfo{Error: "git not found in PATH"},
		Config: "/c.toml", ConfigError: "line 1: no", Windows: 2, LogFile: "/l", StateFile: "/s", Warnings: []string{"the log cannot be written"},
	}
	check(t, `
daemon:      running, pid 7, since 09:00:00
version:     1.2.3
socket:      /run/s
git:         none: git not found in PATH
config:      /c.toml (not used: line 1: no)
windows:     2
open turns:  0
saving:      0
log:         /l
state:       /s
warning:     the log cannot be written
`, func(w *strings.Builder) error { return format().Status(w, r) })
}

func TestVerifiedTellsWhatHelps(t *testing.T) {
	r := api.VerifyCheckpointsResult{Worktree: "/home/u/src/api", OK: true, Checkpoints: 1, Panes: 2, Objects: 3}
	check(t, `
Looked at 1 checkpoint of 2 panes in /home/u/src/api, 3 objects: all can be had.
`, func(w *strings.Builder) error { return format().Verified(w, r) })
	r.Findings = []api.VerifyFinding{
		{Severity: "broken", Pane: "00d333ce", N: 7, What: "its commit is missing", Mend: "delete the ref"},
		{Severity: "damaged", Pane: "00d333ce", N: 8, What: "blob 1234567 is missing\x1b", Command: "turnback checkpoint drop 8"},
		{Severity: "leftover", File: "/home/u/src/api/.git/x", What: "a killed process left it", Mend: "remove it", Failed: "permission denied"},
		{Severity: "note", Ref: "refs/turnback/x", What: "of a later version"},
	}
	check(t, `
Looked at 1 checkpoint of 2 panes in /home/u/src/api, 3 objects:
broken    checkpoint 7 of pane 00d333ce  its commit is missing
                                         mend: delete the ref
damaged   checkpoint 8 of pane 00d333ce  blob 1234567 is missing^[
                                         run: turnback checkpoint drop 8
leftover  /home/u/src/api/.git/x         a killed process left it
                                         not mended: permission denied
note      refs/turnback/x                of a later version
To have done what helps, run: turnback checkpoint verify --mend
`, func(w *strings.Builder) error { return format().Verified(w, r) })
}

func TestTrash(t *testing.T) {
	r := sample()
	until := today(14, 30, 0).AddDate(0, 0, 7)
	r.Checkpoints[0].Until = &until
	r.Checkpoints = append(r.Checkpoints[:1], api.Checkpoint{N: 9, Pane: "00d333ce", Damaged: "its commit is missing"})
	check(t, `
Trash of api-feat-retry, pane 00d333ce, in /home/u/src/api: 2
N  TURN  STATE  TAKEN     COMMIT   UNTIL         LABEL
1  1     done   14:02:56  a6752d3  Dec  7 14:30  Add a retry to the client
9  -     -      -         -        -             -
checkpoint 9 is damaged: its commit is missing
`, func(w *strings.Builder) error { return format().Trash(w, r, false) })
	r.Checkpoints = nil
	check(t, `
The trash of all panes, in /home/u/src/api, is empty.
`, func(w *strings.Builder) error { return format().Trash(w, r, true) })
	dropped := api.DropCheckpointsResult{Dropped: []api.DroppedCheckpoint{
		{Pane: "00d333ce", N: 1, Commit: "a6752d30", Label: "One", Trash: true}, {Pane: "00d333ce", N: 2, Commit: "b6752d30"},
	}}
	check(t, `
dropped checkpoint 1 of pane 00d333ce (a6752d3): One
dropped checkpoint 2 of pane 00d333ce (b6752d3): -
The trash keeps it for 7 days. To bring it back, run: turnback checkpoint untrash -w 00d333ce 1
Until git's next gc, git branch NAME COMMIT keeps what a dropped checkpoint holds.
`, func(w *strings.Builder) error { return format().Dropped(w, dropped) })
}

func TestStats(t *testing.T) {
	r := api.CheckpointStatsResult{
		Worktree: "/home/u/src/api", Bytes: 12_345_678, FileBytes: 999, Trashed: 2, TrashBytes: 999_950,
		Panes: []api.PaneStats{{Pane: "00d333ce", Session: "api", Window: "build", Checkpoints: 12, Bytes: 5_300_000_000}},
	}
	check(t, `
Checkpoints in /home/u/src/api hold 12.3 MB that nothing else does, and 999 bytes of files.
PANE      SESSION  WINDOW  CHECKPOINTS  SIZE
00d333ce  api      build   12           5.3 GB
trash     -        -       2            1.0 MB
`, func(w *strings.Builder) error { return format().Stats(w, r) })
}

func TestPurgedTellsWhereItIsStill(t *testing.T) {
	r := api.PurgeCheckpointsResult{
		Worktree: "/home/u/src/api", Path: "secret.env", Files: 2, OnDisk: true, Left: 1,
		Rewritten: []api.PurgedCheckpoint{{Pane: "00d333ce", N: 1}, {Pane: "11112222", N: 4}, {Pane: "00d333ce", N: 3}},
		Unknown:   []api.PurgedCheckpoint{{Pane: "00d333ce", N: 2}},
		Still:     []api.StillReachable{{Where: "reflogs", Files: 1}},
	}
	check(t, `
Purged secret.env from 3 checkpoints in /home/u/src/api.
rewritten: pane 00d333ce, checkpoints 1, 3
rewritten: pane 11112222, checkpoints 4
damaged, so that nobody can tell whether they hold it: pane 00d333ce, checkpoints 2
1 of 2 contents can still be reached from reflogs.
secret.env is on the disk: the next checkpoint has it again, unless git ignores it.
1 object could not be removed: written again meanwhile, or in an alternate.
`, func(w *strings.Builder) error { return format().Purged(w, r) })
}

func TestShowTellsWhatIsKeptBeside(t *testing.T) {
	item := func(path, detail string) api.KeptItem { return api.KeptItem{Path: path, Detail: detail} }
	r := api.ShowCheckpointResult{
		Checkpoint: api.Checkpoint{N: 2, Pane: "00d333ce", Session: "api", At: today(14, 0, 0), Late: true},
		Kept: []api.Kept{
			{What: "raw", Count: 1, Items: []api.KeptItem{{Path: "a\ufffd", PathBase64: "Yf8="}}},
			{What: "modes", Count: 2, Items: []api.KeptItem{item("", "usually 0600, 0700 and 0700 for folders"), item("key", "0400")}},
			{What: "crlf", Count: 30, Items: []api.KeptItem{item("w.txt", "")}},
			{What: "later", Count: 1, Items: []api.KeptItem{item("x", "")}},
		},
		Uncertain: []api.KeptItem{item("b", "")}, With: []api.TurnID{{Pane: "11112222", Turn: 3}},
	}
	var b strings.Builder
	if err := format().Show(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nraw bytes:         1: \"a\\377\"\n", "\npermissions:       2: usually 0600, 0700 and 0700 for folders, key (0400)\n",
		"\nCRLF:              30: w.txt and 29 more\n", "\nlater:             1: x\n", "\nlate:              saved after the agent was let go\n",
		"\nuncertain:         1: b\n", "\nat the same time:  turn 3 of pane 11112222\n", "\nnamed by tools:    0\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
