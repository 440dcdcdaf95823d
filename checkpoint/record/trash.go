package record

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/trailers"
)

// TrashRoot is where dropped checkpoints are for a while.
const TrashRoot = Root + "trash/"

// Trashed is a dropped checkpoint, as its ref in the trash tells it.
type Trashed struct {
	Ref     string
	Commit  string // what the ref holds
	Pane    string
	N       int
	Turn    int
	Kept    string    // the checkpoint's own commit; empty: the ref is damaged
	At      time.Time // when it was dropped; zero: the ref is damaged
	Damaged string    // why it cannot come back; empty: it can
}

// TrashRef is the ref of a dropped checkpoint.
func TrashRef(pane string, n int) string { return TrashRoot + pane + "/" + strconv.Itoa(n) }

// TrashMessage is the message of the commit under a ref in the trash. Its only
// parent is the checkpoint, its tree that of the checkpoint.
func TrashMessage(c *Checkpoint, at time.Time) string {
	t := trailers.New()
	t.Add("N", strconv.Itoa(c.N))
	t.Add("Pane", c.Pane.ID)
	t.Add("Turn", strconv.Itoa(c.Turn))
	t.Add("Dropped", at.UTC().Format(time.RFC3339Nano))
	return t.Message(fmt.Sprintf("dropped: checkpoint %d", c.N))
}

// ReadTrash lists what was dropped in a pane (empty: in all panes), by ref.
func ReadTrash(ctx context.Context, refs Refs, pane string) ([]Trashed, error) {
	root := TrashRoot
	if pane != "" {
		root += pane + "/"
	}
	list, err := refs.SoundRefs(ctx, root)
	if err != nil {
		return nil, err
	}
	var out []Trashed
	for _, ref := range list {
		if t, ok := readTrashed(ref); ok {
			out = append(out, t)
		}
	}
	return out, nil
}

// readTrashed reads one ref; ok is false where it is none of the trash.
func readTrashed(ref git.Ref) (t Trashed, ok bool) {
	rest, in := strings.CutPrefix(ref.Name, TrashRoot)
	if !in {
		return t, false
	}
	pane, n, ok := ParseRef(CheckpointsRoot + rest)
	if !ok {
		return t, false
	}
	t = Trashed{Ref: ref.Name, Commit: ref.Commit, Pane: pane, N: n}
	said, err := trailers.Parse(ref.Message)
	switch {
	case noCommit(ref) != "":
		t.Damaged = noCommit(ref)
	case err != nil:
		t.Damaged = err.Error()
	case said.Get("N") != strconv.Itoa(n), said.Get("Pane") != pane, len(ref.Parents) != 1:
		t.Damaged = "it says that it is another"
	default:
		at, err := time.Parse(time.RFC3339Nano, said.Get("Dropped"))
		if err != nil {
			t.Damaged = fmt.Sprintf("it was dropped at %.40q", said.Get("Dropped"))
			break
		}
		t.At, t.Kept = at, ref.Parents[0]
		t.Turn, _ = strconv.Atoi(said.Get("Turn"))
	}
	return t, true
}

// FromCommit reads a checkpoint from its commit, which need not be under its ref.
func FromCommit(pane string, n int, commit git.Ref) Checkpoint {
	commit.Name = CheckpointRef(pane, n)
	return readCheckpoint(commit)
}
