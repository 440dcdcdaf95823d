package record

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/trailers"
)

const (
	Root            = "refs/turnback/" // of every ref of ours, those of later versions too
	CheckpointsRoot = Root + "checkpoints/"
	PanesRoot       = Root + "panes/"
	IdentityName    = "turnback"
	IdentityEmail   = "turnback@localhost"
	MaxNamed        = 20 // paths of a list that a checkpoint's own message names
)

// Roles of a checkpoint's parents, in the trailer Parents.
const (
	RoleHead   = "head"
	RoleBase   = "base"
	RoleBeside = "beside"
)

func CheckpointRef(pane string, n int) string {
	return CheckpointsRoot + pane + "/" + strconv.Itoa(n)
}

// Describe makes the message of c's commit.
func Describe(c *Checkpoint, roles []string) string {
	t := trailers.New()
	t.Add("Kind", string(c.Kind))
	t.Add("N", strconv.Itoa(c.N))
	t.Add("Pane", c.Pane.ID)
	t.Add("Window", c.Pane.Window)
	t.Add("Session", c.Pane.Session)
	t.Add("Turn", strconv.Itoa(c.Turn))
	t.Add("State", c.State)
	t.Add("Label", c.Label)
	t.Add("Worktree", c.Worktree)
	t.Add("Head", c.Head)
	t.Add("Branch", c.Branch)
	if b := c.Base; b != nil {
		t.Add("Base-Head", b.Head)
		t.Add("Base-Tree", b.Tree)
		t.Add("Base-Disk", b.Disk)
		if b.Number > 0 {
			t.Add("Base-Number", strconv.Itoa(b.Number))
		}
		t.Add("Base-Name", b.Name)
		if !b.At.IsZero() {
			t.Add("Base-Time", b.At.UTC().Format(time.RFC3339Nano))
		}
	}
	t.Add("Time", c.At.UTC().Format(time.RFC3339Nano))
	t.Add("Agent", c.Agent)
	t.Add("Agent-Session", c.AgentSession)
	t.Add("Transcript", c.Transcript)
	if c.LeftOutCount > 0 {
		t.Add("Left-Out-Count", strconv.Itoa(c.LeftOutCount))
		t.AddList("Left-Out", leftOutItems(c.LeftOut))
	}
	t.Add("Disk", c.Disk)
	t.Add("Looked", strings.Join(c.Looked, " "))
	if c.Late {
		t.Add("Late", "true")
	}
	if c.UncertainCount > 0 {
		t.Add("Uncertain-Count", strconv.Itoa(c.UncertainCount))
		t.AddList("Uncertain", pathItems(c.Uncertain))
	}
	t.AddList("With", turnItems(c.With))
	if c.NamedCount > 0 {
		t.Add("Named-Count", strconv.Itoa(c.NamedCount))
		t.AddList("Named", pathItems(c.Named))
	}
	t.Add("Parents", strings.Join(roles, " "))
	subject := c.Label
	if subject == "" {
		subject = fmt.Sprintf("checkpoint %d", c.N)
	}
	return t.Message(subject)
}

func leftOutItems(list []LeftOut) [][]string {
	items := make([][]string, 0, len(list))
	for _, l := range list {
		items = append(items, []string{l.Reason, l.Path})
	}
	return items
}

// ParseRef splits the name of a checkpoint's ref.
func ParseRef(name string) (pane string, n int, ok bool) {
	rest, ok := strings.CutPrefix(name, CheckpointsRoot)
	if !ok {
		return "", 0, false
	}
	pane, num, ok := strings.Cut(rest, "/")
	n, err := strconv.Atoi(num)
	return pane, n, ok && err == nil && n > 0 && n <= maxNumber && name == CheckpointRef(pane, n)
}

// OwnParents are the parents of a commit of ours that are of our making: what is
// kept beside, bases, dropped checkpoints.
func OwnParents(message string, parents []string) []string {
	head := ""
	if t, err := trailers.Parse(message); err == nil {
		head = t.Get("Head")
	}
	return slices.DeleteFunc(slices.Clone(parents), func(p string) bool { return p == head })
}

// readCheckpoint reads what a ref holds. What cannot be read makes the result
// Damaged; it still has its number.
func readCheckpoint(ref git.Ref) Checkpoint {
	pane, n, _ := ParseRef(ref.Name)
	c := Checkpoint{N: n, Ref: ref.Name, Commit: ref.Commit, Tree: ref.Tree, Pane: Pane{ID: pane}}
	if c.Damaged = noCommit(ref); c.Damaged != "" {
		return c
	}
	t, err := trailers.Parse(ref.Message)
	if err == nil {
		err = c.fill(t, ref)
	}
	if err != nil {
		c.Damaged = err.Error()
	}
	return c
}

// noCommit says why what a ref holds can be no commit of ours; empty: it can.
func noCommit(ref git.Ref) string {
	switch {
	case ref.Type == "":
		return fmt.Sprintf("its commit %s is missing", ref.Commit)
	case ref.Symref != "":
		return fmt.Sprintf("its ref stands for another, %.200s", ref.Symref)
	case ref.Type != "commit":
		return fmt.Sprintf("its ref holds a %s, not a commit", ref.Type)
	}
	return ""
}

// checkID refuses what is no object id like that of a ref's commit: ids are
// given to git.
func checkID(ref git.Ref, name, id string) error {
	if id == "" || len(id) == len(ref.Commit) && strings.Trim(id, "0123456789abcdef") == "" {
		return nil
	}
	return fmt.Errorf("%w: %s %.80q is no object id", trailers.ErrMalformed, name, id)
}

// checkIDs is checkID for the values of trailers.
func checkIDs(ref git.Ref, t *trailers.Set, names ...string) error {
	for _, name := range names {
		if err := checkID(ref, name, t.Get(name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checkpoint) fill(t *trailers.Set, ref git.Ref) error {
	numbers := map[string]int{}
	for _, name := range []string{"N", "Turn", "Base-Number", "Left-Out-Count"} {
		n, err := number(t, name)
		if err != nil {
			return err
		}
		numbers[name] = n
	}
	if numbers["N"] != c.N || t.Get("Pane") != c.Pane.ID {
		return fmt.Errorf("%w: it says it is checkpoint %d of pane %.40q", trailers.ErrMalformed, numbers["N"], t.Get("Pane"))
	}
	if err := checkIDs(ref, t, "Head", "Base-Head", "Base-Tree"); err != nil {
		return err
	}
	for _, name := range []string{"Disk", "Base-Disk"} {
		bytes, _ := BytesOf(t.Get(name))
		if err := checkID(ref, name, bytes); err != nil {
			return err
		}
	}
	c.Kind = Kind(t.Get("Kind"))
	if !slices.Contains([]Kind{KindTurn, KindStart, KindSafety, KindManual, KindConversation}, c.Kind) {
		return fmt.Errorf("%w: kind %.40q is not known", trailers.ErrMalformed, c.Kind)
	}
	c.Pane.Window, c.Pane.Session = t.Get("Window"), t.Get("Session")
	c.Turn, c.State, c.Label = numbers["Turn"], t.Get("State"), t.Get("Label")
	c.Worktree, c.Head, c.Branch = t.Get("Worktree"), t.Get("Head"), t.Get("Branch")
	if tree := t.Get("Base-Tree"); tree != "" {
		c.Base = &Base{Head: t.Get("Base-Head"), Tree: tree, Disk: t.Get("Base-Disk"), Number: numbers["Base-Number"], Name: t.Get("Base-Name")}
		if at := t.Get("Base-Time"); at != "" {
			var err error
			if c.Base.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
				return fmt.Errorf("%w: time %.40q", trailers.ErrMalformed, at)
			}
		}
	}
	at, err := time.Parse(time.RFC3339Nano, t.Get("Time"))
	if err != nil {
		return fmt.Errorf("%w: time %.40q", trailers.ErrMalformed, t.Get("Time"))
	}
	c.At = at
	c.Agent, c.AgentSession, c.Transcript = t.Get("Agent"), t.Get("Agent-Session"), t.Get("Transcript")
	c.Disk, c.Looked = t.Get("Disk"), strings.Fields(t.Get("Looked"))
	c.Late = t.Get("Late") == "true"
	c.LeftOutCount = numbers["Left-Out-Count"]
	items, err := t.List("Left-Out", 2)
	if err != nil {
		return err
	}
	for _, f := range items {
		c.LeftOut = append(c.LeftOut, LeftOut{Reason: f[0], Path: f[1]})
	}
	if err := c.fillTurns(t); err != nil {
		return err
	}
	return c.setParents(strings.Fields(t.Get("Parents")), ref.Parents)
}

// setParents notes what the parents are, each in its role.
func (c *Checkpoint) setParents(roles, parents []string) error {
	if len(roles) != len(parents) {
		return fmt.Errorf("%w: %d parents, %d named", trailers.ErrMalformed, len(parents), len(roles))
	}
	for i, role := range roles {
		if slices.Contains(roles[:i], role) {
			return fmt.Errorf("%w: two parents are %.40q", trailers.ErrMalformed, role)
		}
		switch role {
		case RoleHead:
			if parents[i] != c.Head {
				return fmt.Errorf("%w: its parent head is not the HEAD it names", trailers.ErrMalformed)
			}
		case RoleBeside:
			c.Beside = parents[i]
		case RoleBase:
			c.BaseCommit = parents[i]
		}
	}
	return nil
}

// maxNumber is the highest number that a checkpoint or a turn may have: there is
// room to count on from whatever a ref says.
const maxNumber = 1_000_000_000

// number reads a trailer that counts something; 0: there is none.
func number(t *trailers.Set, name string) (int, error) {
	text := t.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxNumber {
		return 0, fmt.Errorf("%w: %s %.40q", trailers.ErrMalformed, name, text)
	}
	return n, nil
}

// PaneState is what the ref of a pane holds.
type PaneState struct {
	Pane
	Commit      string // empty: there is no such ref yet
	Worktree    string
	HighestN    int
	HighestTurn int
	Restored    string // the tree that the last restore left
	RestoredN   int
	Undone      []Undone
	NotSaved    []NotSaved
	Damaged     string // why nothing of it can be read; empty: it can

	// The base of the open turn, while no other ref may hold it: a commit with
	// its tree, whose parent lists what that left out.
	BaseCommit string
	BaseTree   string
	BaseDisk   string
}

// Undone is a turn that was taken back and can be put forward again.
type Undone struct {
	Turn int
	N    int    // the checkpoint at the turn's end
	Left string // the State that taking it back left
}

const maxNotSaved = 50

func (p *PaneState) Message() string {
	t := trailers.New()
	t.Add("Pane", p.ID)
	t.Add("Window", p.Window)
	t.Add("Session", p.Session)
	t.Add("Key", p.Key)
	t.Add("Worktree", p.Worktree)
	t.Add("Highest-N", strconv.Itoa(p.HighestN))
	t.Add("Highest-Turn", strconv.Itoa(p.HighestTurn))
	t.Add("Held-Tree", p.BaseTree)
	t.Add("Held-Disk", p.BaseDisk)
	if p.Restored != "" {
		t.Add("Restored-Tree", p.Restored)
		t.Add("Restored-N", strconv.Itoa(p.RestoredN))
	}
	var items [][]string
	for _, u := range p.Undone {
		items = append(items, []string{strconv.Itoa(u.Turn), strconv.Itoa(u.N), u.Left})
	}
	t.AddList("Undone", items)
	items = nil
	for _, s := range p.NotSaved[max(0, len(p.NotSaved)-maxNotSaved):] {
		items = append(items, []string{strconv.Itoa(s.Turn), strconv.FormatInt(s.At.Unix(), 10), s.Reason})
	}
	t.AddList("Not-Saved", items)
	return t.Message("pane " + p.ID)
}

// readPane reads what the ref of a pane holds. Where that cannot be read, nothing
// is known of the pane, and Damaged says why.
func readPane(ref git.Ref) PaneState {
	p := PaneState{Commit: ref.Commit, Pane: Pane{ID: strings.TrimPrefix(ref.Name, PanesRoot)}}
	unknown := p
	if unknown.Damaged = noCommit(ref); unknown.Damaged != "" {
		return unknown
	}
	t, err := trailers.Parse(ref.Message)
	if err == nil {
		err = p.fill(t, ref)
	}
	if err != nil {
		unknown.Damaged = err.Error()
		return unknown
	}
	return p
}

func (p *PaneState) fill(t *trailers.Set, ref git.Ref) error {
	if id := t.Get("Pane"); id != p.ID {
		return fmt.Errorf("%w: it says it is pane %.40q", trailers.ErrMalformed, id)
	}
	if err := checkIDs(ref, t, "Restored-Tree", "Held-Tree"); err != nil {
		return err
	}
	p.Window, p.Session, p.Key, p.Worktree = t.Get("Window"), t.Get("Session"), t.Get("Key"), t.Get("Worktree")
	for name, to := range map[string]*int{"Highest-N": &p.HighestN, "Highest-Turn": &p.HighestTurn, "Restored-N": &p.RestoredN} {
		n, err := number(t, name)
		if err != nil {
			return err
		}
		*to = n
	}
	p.Restored = t.Get("Restored-Tree")
	if len(ref.Parents) == 1 {
		p.BaseCommit, p.BaseTree, p.BaseDisk = ref.Parents[0], t.Get("Held-Tree"), t.Get("Held-Disk")
	}
	items, err := t.List("Undone", 3)
	if err != nil {
		return err
	}
	for _, f := range items {
		u := Undone{Left: f[2]}
		if u.Left != "-" {
			left := ParseState(u.Left)
			bytes, _ := BytesOf(left.Disk)
			if err := errors.Join(checkID(ref, "Undone", left.Tree), checkID(ref, "Undone", bytes)); err != nil {
				return err
			}
		}
		u.Turn, _ = strconv.Atoi(f[0])
		u.N, _ = strconv.Atoi(f[1])
		p.Undone = append(p.Undone, u)
	}
	if items, err = t.List("Not-Saved", 3); err != nil {
		return err
	}
	for _, f := range items {
		turn, _ := strconv.Atoi(f[0])
		sec, _ := strconv.ParseInt(f[1], 10, 64)
		p.NotSaved = append(p.NotSaved, NotSaved{Turn: turn, At: time.Unix(sec, 0).UTC(), Reason: f[2]})
	}
	return nil
}
