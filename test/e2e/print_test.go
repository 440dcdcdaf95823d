//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
)

const session = "11111111-2222-4333-8444-555555555555"

// A person runs the CLI twice without a terminal, in one session: once with
// edits by tool, once by shell and by a subagent. Then everything that turnback
// offers on files is used on the result.
func TestTurnsWithoutATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n"})
	w.repo.Write("staged.txt", "staged\n")
	w.repo.Git("add", "staged.txt")
	w.repo.Write("staged.txt", "and changed again\n")
	users := w.repo.Fingerprint()
	before := w.repo.Tree()

	w.model.Add(
		does(w.read("a.txt")),
		does(w.edit("a.txt", "one", "one, edited"), w.write("dir/new.txt", "by tool\n")),
		says("Edited and written."),
	)
	if got := w.ask("Change the files by tool", "--session-id", session); got != "Edited and written." {
		t.Errorf("the CLI answered %q", got)
	}
	first := w.repo.Tree()

	w.model.Add(
		does(shell("echo two >>a.txt && rm b.txt && ln -s a.txt link && chmod +x dir/new.txt")),
		does(subagent("write the part", false)),
		inSubagent(does(w.write("part.txt", "by a subagent\n"))),
		inSubagent(says("The part is written.")),
		says("All done."),
	)
	if got := w.ask("Now by shell\nand more", "--resume", session); got != "All done." {
		t.Errorf("the CLI answered %q", got)
	}
	second := w.repo.Tree()
	if first["b.txt"].Kind == "" || second["b.txt"].Kind != "" || second["part.txt"].Kind == "" {
		t.Fatalf("the script did not do its work:\n%s", cmp.Diff(first, second))
	}

	w.wantCheckpoints(
		`1 turn 1 start  base: "edits before turn 1"`,
		`2 turn 1 turn done base:checkpoint "Change the files by tool"`,
		`3 turn 2 turn done base:checkpoint "Now by shell"`,
	)
	w.readsAreRight(users)
	w.turnsComeAndGo(before, first, second)
	if diff := cmp.Diff(users, w.repo.Fingerprint()); diff != "" {
		t.Errorf("the user's things changed (-before +after):\n%s", diff)
	}
	w.hooksGo()
	if found := w.repo.Git("log", "--all", "-p", "--format=%B", "--text"); strings.Contains(found, dummyKey) {
		t.Error("the key is in a ref")
	}
}

// readsAreRight holds list, show and diff against what was done.
func (w *world) readsAreRight(users map[string]string) {
	w.t.Helper()
	pane := w.list().Pane.Pane
	text := w.turnback("checkpoint", "list")
	table := regexp.MustCompile(`^Checkpoints of \S+, pane ` + pane + `, in ` + regexp.QuoteMeta(w.repo.Root) + `: 3
N  TURN  STATE  TAKEN     COMMIT   LABEL
1  1     -      \d\d:\d\d:\d\d  [0-9a-f]{7}  start: edits before turn 1
2  1     done   \d\d:\d\d:\d\d  [0-9a-f]{7}  Change the files by tool
3  2     done   \d\d:\d\d:\d\d  [0-9a-f]{7}  Now by shell
$`)
	if !table.MatchString(text) {
		w.t.Errorf("list prints\n%s\nwhich does not fit\n%s", text, table)
	}

	var shown api.ShowCheckpointResult
	w.turnbackJSON(&shown, "checkpoint", "show", "3")
	if c := shown.Checkpoint; c.Agent != "claude" || c.AgentSession != session || c.Head != w.repo.Git("rev-parse", "HEAD") {
		w.t.Errorf("show 3: agent %q, session %q, head %q", c.Agent, c.AgentSession, c.Head)
	}

	stat := w.turnback("checkpoint", "diff", "3", "--stat")
	_, rows, _ := strings.Cut(stat, "\n")
	if want := fmt.Sprintf("Checkpoint 3 of %s, pane %s, against checkpoint 2: 5 files, +3 -1\n", w.list().Session, pane); !strings.HasPrefix(stat, want) {
		w.t.Errorf("diff 3 --stat begins %q, want %q", stat, want)
	}
	const wantRows = `M  a.txt        +1 -0
D  b.txt        +0 -1
M  dir/new.txt  +0 -0
A  link         +1 -0
A  part.txt     +1 -0
`
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		w.t.Errorf("rows of diff 3 --stat (-want +got):\n%s", diff)
	}

	// The patch is one that git takes, both ways.
	var diff api.CheckpointDiffResult
	w.turnbackJSON(&diff, "checkpoint", "diff", "3")
	after := w.repo.Tree()
	w.repo.GitInput(diff.Patch, "apply", "--reverse", "-")
	w.repo.GitInput(diff.Patch, "apply", "-")
	w.wantFiles(after, "after the patch of turn 2 was taken back and put on again")
	if diff := cmp.Diff(users["file index"], w.repo.Fingerprint()["file index"]); diff != "" {
		w.t.Errorf("reading changed the index:\n%s", diff)
	}
}

// turnsComeAndGo restores, undoes and redoes; each time the tree is byte for
// byte what it was.
func (w *world) turnsComeAndGo(before, first, second files) {
	w.t.Helper()
	restored := w.turnback("checkpoint", "restore", "2")
	w.wantFiles(first, "after restoring checkpoint 2")
	// Two written (a.txt, b.txt), the mode of one set back, two removed.
	if want := ": 3 files written, 2 removed.\nCheckpoint 4 holds the work tree as it was before. To undo, run: "; !strings.Contains(restored, want) {
		w.t.Errorf("restore prints\n%s\nwithout %q", restored, want)
	}
	// The command that it names is the one that undoes it.
	_, command, found := strings.Cut(strings.TrimSpace(restored), "To undo, run: turnback ")
	if !found {
		w.t.Fatalf("restore names no command to undo it:\n%s", restored)
	}
	w.turnback(strings.Fields(command)...)
	w.wantFiles(second, "after the restore was undone")

	w.turnback("undo")
	w.wantFiles(first, "after undo of turn 2")
	w.turnback("undo")
	w.wantFiles(before, "after undo of turn 1")
	w.turnback("redo")
	w.wantFiles(first, "after redo of turn 1")
	w.turnback("redo")
	w.wantFiles(second, "after redo of turn 2")
}

// hooksGo takes the hooks out again, after the CLI has had its hands on its
// settings; a turn after that is not seen.
func (w *world) hooksGo() {
	w.t.Helper()
	w.turnback("setup", "claude", "--remove", "--yes")
	settings, err := os.ReadFile(filepath.Join(w.repo.Home, ".claude", "settings.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) || strings.Contains(string(settings), "turnback") {
		w.t.Errorf("settings after the hooks were removed (%v):\n%s", err, settings)
	}
	count := len(w.list().Checkpoints)
	w.model.Add(does(shell("echo unseen >>a.txt")), says("Nobody saw it."))
	w.ask("and once more", "--resume", session)
	if got := len(w.list().Checkpoints); got != count {
		w.t.Errorf("%d checkpoints after a turn without hooks, %d before", got, count)
	}
}
