package record

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/git"
)

// FuzzRefName reads names of refs: one that is a checkpoint's is written in just
// one way.
func FuzzRefName(f *testing.F) {
	for _, name := range []string{"00d333ce/1", "00d333ce/01", "00d333ce/+1", "00d333ce/0", "a/b/1", "/1", "00d333ce/9223372036854775807", "00d333ce/1000000000", "00d333ce/-1", ""} {
		f.Add(CheckpointsRoot + name)
	}
	f.Add("refs/heads/main")
	f.Fuzz(func(t *testing.T, name string) {
		pane, n, ok := ParseRef(name)
		if ok && (CheckpointRef(pane, n) != name || n < 1 || n > maxNumber) {
			t.Errorf("%q is taken for checkpoint %d of pane %q", name, n, pane)
		}
	})
}

// FuzzCommit reads the messages of commits at our refs, as a repository from
// anywhere can have them: what is taken comes back when it is written again.
func FuzzCommit(f *testing.F) {
	id := strings.Repeat("a", 40)
	c := Checkpoint{
		N: 2, Pane: Pane{ID: "00d333ce", Window: "build", Session: "api"}, Kind: KindTurn, Turn: 2, State: "done", Label: "a: b", Worktree: "/home/u",
		Head: id, Base: &Base{Head: id, Tree: id, Number: 1, Name: "checkpoint 1"}, At: time.Unix(1, 2).UTC(), LeftOutCount: 1,
		LeftOut: []LeftOut{{Path: "big\n.bin", Reason: ReasonTooLarge}},
	}
	f.Add(Describe(&c, []string{RoleHead, RoleBeside}), id+" "+id)
	f.Add(strings.Replace(Describe(&c, []string{RoleHead}), "Base-Tree: "+id, "Base-Tree: --output=x", 1), id)
	p := PaneState{Pane: c.Pane, HighestN: 2, Restored: id, RestoredN: 1, Undone: []Undone{{Turn: 1, N: 1, Left: "-"}}, NotSaved: []NotSaved{{Turn: 1, Reason: "r"}}}
	f.Add(p.Message(), id)
	f.Fuzz(func(t *testing.T, message, parents string) {
		ref := git.Ref{Name: CheckpointRef("00d333ce", 2), Commit: id, Type: "commit", Tree: id, Parents: strings.Fields(parents), Message: message}
		if c := readCheckpoint(ref); c.Damaged == "" {
			checkSound(t, &c, ref)
		}
		ref.Name = PanesRoot + "00d333ce"
		p := readPane(ref)
		if p.HighestN < 0 || p.HighestN > maxNumber || p.HighestTurn < 0 || p.HighestTurn > maxNumber {
			t.Errorf("numbers %d and %d", p.HighestN, p.HighestTurn)
		}
		for _, u := range p.Undone {
			if u.Left != "" && u.Left != "-" && !git.IsID(u.Left) {
				t.Errorf("%q is taken for a tree", u.Left)
			}
		}
		if p.Restored != "" && !git.IsID(p.Restored) {
			t.Errorf("%q is taken for a tree", p.Restored)
		}
	})
}

func checkSound(t *testing.T, c *Checkpoint, ref git.Ref) {
	t.Helper()
	ids := []string{c.Head}
	if c.Base != nil {
		ids = append(ids, c.Base.Tree, c.Base.Head)
	}
	for _, id := range ids {
		if id != "" && !git.IsID(id) {
			t.Errorf("%q is taken for an id", id)
		}
	}
	var roles []string
	for i := range ref.Parents {
		switch ref.Parents[i] {
		case c.Head:
			roles = append(roles, RoleHead)
		default:
			return // not told apart here
		}
	}
	if len(roles) > 1 {
		return
	}
	ref.Message = Describe(c, roles)
	again := readCheckpoint(ref)
	again.At, c.At = again.At.UTC(), c.At.UTC()
	if c.Beside == "" && c.BaseCommit == "" && again.Damaged == "" && !reflect.DeepEqual(*c, again) {
		t.Errorf("%+v came back as %+v", *c, again)
	}
}
