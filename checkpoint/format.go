package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/trailers"
)

const (
	refRoot         = "refs/turnback/"
	checkpointsRoot = refRoot + "checkpoints/"
	panesRoot       = refRoot + "panes/"
	identityName    = "turnback"
	identityEmail   = "turnback@localhost"
	maxNamed        = 20 // left-out paths that a checkpoint's own message names
)

// Roles of a checkpoint's parents, in the trailer Parents.
const (
	roleHead   = "head"
	roleBase   = "base"
	roleBeside = "beside"
)

func checkpointRef(pane string, n int) string {
	return checkpointsRoot + pane + "/" + strconv.Itoa(n)
}

// describe makes the message of c's commit.
func describe(c *Checkpoint, roles []string) string {
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
		if b.Number > 0 {
			t.Add("Base-Number", strconv.Itoa(b.Number))
		}
		t.Add("Base-Name", b.Name)
	}
	t.Add("Time", c.At.UTC().Format(time.RFC3339Nano))
	t.Add("Agent", c.Agent)
	t.Add("Agent-Session", c.AgentSession)
	t.Add("Transcript", c.Transcript)
	if c.LeftOutCount > 0 {
		t.Add("Left-Out-Count", strconv.Itoa(c.LeftOutCount))
		t.AddList("Left-Out", leftOutItems(c.LeftOut))
	}
	if c.Late {
		t.Add("Late", "true")
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

// parseRef splits the name of a checkpoint's ref.
func parseRef(name string) (pane string, n int, ok bool) {
	rest, ok := strings.CutPrefix(name, checkpointsRoot)
	if !ok {
		return "", 0, false
	}
	pane, num, ok := strings.Cut(rest, "/")
	n, err := strconv.Atoi(num)
	return pane, n, ok && err == nil && n > 0
}

// readCheckpoint reads what a ref holds. What cannot be read makes the result
// Damaged; it still has its number.
func readCheckpoint(ref git.Ref) Checkpoint {
	pane, n, _ := parseRef(ref.Name)
	c := Checkpoint{N: n, Ref: ref.Name, Commit: ref.Commit, Tree: ref.Tree, Pane: Pane{ID: pane}}
	if ref.Tree == "" {
		c.Damaged = fmt.Sprintf("its commit %s is missing", ref.Commit)
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

func (c *Checkpoint) fill(t *trailers.Set, ref git.Ref) error {
	number := func(name string) int {
		n, err := strconv.Atoi(t.Get(name))
		if err != nil {
			return 0
		}
		return n
	}
	if number("N") != c.N || t.Get("Pane") != c.Pane.ID {
		return fmt.Errorf("%w: it says it is checkpoint %d of pane %.40q", trailers.ErrMalformed, number("N"), t.Get("Pane"))
	}
	c.Kind = Kind(t.Get("Kind"))
	if !slices.Contains([]Kind{KindTurn, KindStart, KindSafety, KindManual, KindConversation}, c.Kind) {
		return fmt.Errorf("%w: kind %.40q is not known", trailers.ErrMalformed, c.Kind)
	}
	c.Pane.Window, c.Pane.Session = t.Get("Window"), t.Get("Session")
	c.Turn, c.State, c.Label = number("Turn"), t.Get("State"), t.Get("Label")
	c.Worktree, c.Head, c.Branch = t.Get("Worktree"), t.Get("Head"), t.Get("Branch")
	if tree := t.Get("Base-Tree"); tree != "" {
		c.Base = &Base{Head: t.Get("Base-Head"), Tree: tree, Number: number("Base-Number"), Name: t.Get("Base-Name")}
	}
	at, err := time.Parse(time.RFC3339Nano, t.Get("Time"))
	if err != nil {
		return fmt.Errorf("%w: time %.40q", trailers.ErrMalformed, t.Get("Time"))
	}
	c.At = at
	c.Agent, c.AgentSession, c.Transcript = t.Get("Agent"), t.Get("Agent-Session"), t.Get("Transcript")
	c.Late = t.Get("Late") == "true"
	c.LeftOutCount = number("Left-Out-Count")
	items, err := t.List("Left-Out", 2)
	if err != nil {
		return err
	}
	for _, f := range items {
		c.LeftOut = append(c.LeftOut, LeftOut{Reason: f[0], Path: f[1]})
	}
	roles := strings.Fields(t.Get("Parents"))
	if len(roles) != len(ref.Parents) {
		return fmt.Errorf("%w: %d parents, %d named", trailers.ErrMalformed, len(ref.Parents), len(roles))
	}
	for i, role := range roles {
		switch role {
		case roleHead:
			if ref.Parents[i] != c.Head {
				return fmt.Errorf("%w: its first parent is not the HEAD it names", trailers.ErrMalformed)
			}
		case roleBeside:
			c.beside = ref.Parents[i]
		case roleBase:
			c.baseCommit = ref.Parents[i]
		}
	}
	return nil
}

// paneState is what the ref of a pane holds.
type paneState struct {
	Pane
	commit      string // empty: there is no such ref yet
	Worktree    string
	HighestN    int
	HighestTurn int
	Restored    string // the tree that the last restore left
	RestoredN   int
	Undone      []undone
	NotSaved    []NotSaved

	// The base of the open turn, while no other ref may hold it: a commit with
	// its tree, whose parent lists what that left out.
	baseCommit string
	baseTree   string
}

// undone is a turn that was taken back and can be put forward again.
type undone struct {
	Turn int
	N    int    // the checkpoint at the turn's end
	Left string // the tree that taking it back left
}

const maxNotSaved = 50

func (p *paneState) message() string {
	t := trailers.New()
	t.Add("Pane", p.ID)
	t.Add("Window", p.Window)
	t.Add("Session", p.Session)
	t.Add("Key", p.Key)
	t.Add("Worktree", p.Worktree)
	t.Add("Highest-N", strconv.Itoa(p.HighestN))
	t.Add("Highest-Turn", strconv.Itoa(p.HighestTurn))
	t.Add("Held-Tree", p.baseTree)
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

func readPane(ref git.Ref) (paneState, error) {
	p := paneState{commit: ref.Commit, Pane: Pane{ID: strings.TrimPrefix(ref.Name, panesRoot)}}
	t, err := trailers.Parse(ref.Message)
	if err != nil {
		return p, err
	}
	p.Window, p.Session, p.Key, p.Worktree = t.Get("Window"), t.Get("Session"), t.Get("Key"), t.Get("Worktree")
	p.HighestN, _ = strconv.Atoi(t.Get("Highest-N"))
	p.HighestTurn, _ = strconv.Atoi(t.Get("Highest-Turn"))
	p.Restored = t.Get("Restored-Tree")
	if len(ref.Parents) == 1 {
		p.baseCommit, p.baseTree = ref.Parents[0], t.Get("Held-Tree")
	}
	p.RestoredN, _ = strconv.Atoi(t.Get("Restored-N"))
	items, err := t.List("Undone", 3)
	if err != nil {
		return p, err
	}
	for _, f := range items {
		u := undone{Left: f[2]}
		u.Turn, _ = strconv.Atoi(f[0])
		u.N, _ = strconv.Atoi(f[1])
		p.Undone = append(p.Undone, u)
	}
	if items, err = t.List("Not-Saved", 3); err != nil {
		return p, err
	}
	for _, f := range items {
		turn, _ := strconv.Atoi(f[0])
		sec, _ := strconv.ParseInt(f[1], 10, 64)
		p.NotSaved = append(p.NotSaved, NotSaved{Turn: turn, At: time.Unix(sec, 0).UTC(), Reason: f[2]})
	}
	return p, nil
}

// held is what the refs hold of one pane, or of all.
type held struct {
	pane        paneState // of the pane asked for
	panes       []paneState
	checkpoints []Checkpoint // by pane, then by number
	extra       map[string]string
}

// readRefs reads the refs of a pane (empty: all panes) in one git process.
// Further refs that exist are in extra, with the commits that they hold.
func (s *Store) readRefs(ctx context.Context, pane string, further ...string) (*held, error) {
	patterns := []string{checkpointsRoot, panesRoot}
	if pane != "" {
		patterns = []string{checkpointsRoot + pane + "/", panesRoot + pane}
	}
	for _, f := range further {
		if f != "" {
			patterns = append(patterns, f)
		}
	}
	refs, err := s.repo.SoundRefs(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	h := &held{pane: paneState{Pane: Pane{ID: pane}}, extra: map[string]string{}}
	for _, ref := range refs {
		h.extra[ref.Name] = ref.Commit
		if strings.HasPrefix(ref.Name, panesRoot) {
			p, err := readPane(ref)
			if err != nil && pane != "" && p.ID == pane {
				p.HighestN, p.HighestTurn = 0, 0 // counted again from the checkpoints
			}
			h.panes = append(h.panes, p)
			if p.ID == pane {
				h.pane = p
			}
			continue
		}
		if id, _, ok := parseRef(ref.Name); ok && (pane == "" || id == pane) {
			h.checkpoints = append(h.checkpoints, readCheckpoint(ref))
		}
	}
	slices.SortFunc(h.checkpoints, func(a, b Checkpoint) int {
		if c := strings.Compare(a.Pane.ID, b.Pane.ID); c != 0 {
			return c
		}
		return a.N - b.N
	})
	for _, c := range h.checkpoints {
		if c.Pane.ID == pane {
			h.pane.HighestN = max(h.pane.HighestN, c.N)
			h.pane.HighestTurn = max(h.pane.HighestTurn, c.Turn)
		}
	}
	return h, nil
}

// find gives checkpoint n, or a NoCheckpoint error that lists what there is.
func (h *held) find(n int) (*Checkpoint, error) {
	var numbers []int
	for i := range h.checkpoints {
		if h.checkpoints[i].N == n {
			return &h.checkpoints[i], nil
		}
		numbers = append(numbers, h.checkpoints[i].N)
	}
	msg := fmt.Sprintf("pane %s has no checkpoint %d", h.pane.ID, n)
	if len(numbers) == 0 {
		msg = fmt.Sprintf("pane %s has no checkpoints", h.pane.ID)
	}
	return nil, &Error{Code: NoCheckpoint, Message: msg, Numbers: numbers, Command: "checkpoint list"}
}

// before gives the newest checkpoint with a smaller number than n, or nil.
func (h *held) before(n int) *Checkpoint {
	for i := len(h.checkpoints) - 1; i >= 0; i-- {
		if h.checkpoints[i].N < n {
			return &h.checkpoints[i]
		}
	}
	return nil
}

// last gives the newest checkpoint, or nil.
func (h *held) last() *Checkpoint {
	if len(h.checkpoints) == 0 {
		return nil
	}
	return &h.checkpoints[len(h.checkpoints)-1]
}
