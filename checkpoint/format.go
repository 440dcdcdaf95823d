package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git"
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
	t := newTrailers()
	t.add("Format", formatVersion)
	t.add("Kind", string(c.Kind))
	t.add("N", strconv.Itoa(c.N))
	t.add("Pane", c.Pane.ID)
	t.add("Window", c.Pane.Window)
	t.add("Session", c.Pane.Session)
	t.add("Turn", strconv.Itoa(c.Turn))
	t.add("State", c.State)
	t.add("Label", c.Label)
	t.add("Worktree", c.Worktree)
	t.add("Head", c.Head)
	t.add("Branch", c.Branch)
	if b := c.Base; b != nil {
		t.add("Base-Head", b.Head)
		t.add("Base-Tree", b.Tree)
		if b.Number > 0 {
			t.add("Base-Number", strconv.Itoa(b.Number))
		}
		t.add("Base-Name", b.Name)
	}
	t.add("Time", c.At.UTC().Format(time.RFC3339Nano))
	t.add("Agent", c.Agent)
	t.add("Agent-Session", c.AgentSession)
	t.add("Transcript", c.Transcript)
	if c.LeftOutCount > 0 {
		t.add("Left-Out-Count", strconv.Itoa(c.LeftOutCount))
		t.addList("Left-Out", leftOutItems(c.LeftOut))
	}
	if c.Late {
		t.add("Late", "true")
	}
	t.add("Parents", strings.Join(roles, " "))
	subject := c.Label
	if subject == "" {
		subject = fmt.Sprintf("checkpoint %d", c.N)
	}
	return t.message(subject)
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
	t, err := parseTrailers(ref.Message)
	if err == nil {
		err = c.fill(t, ref)
	}
	if err != nil {
		c.Damaged = err.Error()
	}
	return c
}

func (c *Checkpoint) fill(t *trailers, ref git.Ref) error {
	number := func(name string) int {
		n, err := strconv.Atoi(t.get(name))
		if err != nil {
			return 0
		}
		return n
	}
	if number("N") != c.N || t.get("Pane") != c.Pane.ID {
		return fmt.Errorf("%w: it says it is checkpoint %d of pane %.40q", errTrailers, number("N"), t.get("Pane"))
	}
	c.Kind = Kind(t.get("Kind"))
	if !slices.Contains([]Kind{KindTurn, KindStart, KindSafety, KindManual, KindConversation}, c.Kind) {
		return fmt.Errorf("%w: kind %.40q is not known", errTrailers, c.Kind)
	}
	c.Pane.Window, c.Pane.Session = t.get("Window"), t.get("Session")
	c.Turn, c.State, c.Label = number("Turn"), t.get("State"), t.get("Label")
	c.Worktree, c.Head, c.Branch = t.get("Worktree"), t.get("Head"), t.get("Branch")
	if tree := t.get("Base-Tree"); tree != "" {
		c.Base = &Base{Head: t.get("Base-Head"), Tree: tree, Number: number("Base-Number"), Name: t.get("Base-Name")}
	}
	at, err := time.Parse(time.RFC3339Nano, t.get("Time"))
	if err != nil {
		return fmt.Errorf("%w: time %.40q", errTrailers, t.get("Time"))
	}
	c.At = at
	c.Agent, c.AgentSession, c.Transcript = t.get("Agent"), t.get("Agent-Session"), t.get("Transcript")
	c.Late = t.get("Late") == "true"
	c.LeftOutCount = number("Left-Out-Count")
	items, err := splitList(t.raw["Left-Out"], 2)
	if err != nil {
		return err
	}
	for _, f := range items {
		c.LeftOut = append(c.LeftOut, LeftOut{Reason: f[0], Path: f[1]})
	}
	roles := strings.Fields(t.get("Parents"))
	if len(roles) != len(ref.Parents) {
		return fmt.Errorf("%w: %d parents, %d named", errTrailers, len(ref.Parents), len(roles))
	}
	for i, role := range roles {
		switch role {
		case roleHead:
			if ref.Parents[i] != c.Head {
				return fmt.Errorf("%w: its first parent is not the HEAD it names", errTrailers)
			}
		case roleBeside:
			c.beside = ref.Parents[i]
		case roleBase:
			c.hasBaseParent = true
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
}

// undone is a turn that was taken back and can be put forward again.
type undone struct {
	Turn int
	N    int    // the checkpoint at the turn's end
	Left string // the tree that taking it back left
}

const maxNotSaved = 50

func (p *paneState) message() string {
	t := newTrailers()
	t.add("Format", formatVersion)
	t.add("Pane", p.ID)
	t.add("Window", p.Window)
	t.add("Session", p.Session)
	t.add("Key", p.Key)
	t.add("Worktree", p.Worktree)
	t.add("Highest-N", strconv.Itoa(p.HighestN))
	t.add("Highest-Turn", strconv.Itoa(p.HighestTurn))
	if p.Restored != "" {
		t.add("Restored-Tree", p.Restored)
		t.add("Restored-N", strconv.Itoa(p.RestoredN))
	}
	var items [][]string
	for _, u := range p.Undone {
		items = append(items, []string{strconv.Itoa(u.Turn), strconv.Itoa(u.N), u.Left})
	}
	t.addList("Undone", items)
	items = nil
	for _, s := range p.NotSaved[max(0, len(p.NotSaved)-maxNotSaved):] {
		items = append(items, []string{strconv.Itoa(s.Turn), strconv.FormatInt(s.At.Unix(), 10), s.Reason})
	}
	t.addList("Not-Saved", items)
	return t.message("pane " + p.ID)
}

func readPane(ref git.Ref) (paneState, error) {
	p := paneState{commit: ref.Commit, Pane: Pane{ID: strings.TrimPrefix(ref.Name, panesRoot)}}
	t, err := parseTrailers(ref.Message)
	if err != nil {
		return p, err
	}
	p.Window, p.Session, p.Key, p.Worktree = t.get("Window"), t.get("Session"), t.get("Key"), t.get("Worktree")
	p.HighestN, _ = strconv.Atoi(t.get("Highest-N"))
	p.HighestTurn, _ = strconv.Atoi(t.get("Highest-Turn"))
	p.Restored = t.get("Restored-Tree")
	p.RestoredN, _ = strconv.Atoi(t.get("Restored-N"))
	items, err := splitList(t.raw["Undone"], 3)
	if err != nil {
		return p, err
	}
	for _, f := range items {
		u := undone{Left: f[2]}
		u.Turn, _ = strconv.Atoi(f[0])
		u.N, _ = strconv.Atoi(f[1])
		p.Undone = append(p.Undone, u)
	}
	if items, err = splitList(t.raw["Not-Saved"], 3); err != nil {
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
	refs, err := s.repo.Refs(ctx, patterns...)
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
