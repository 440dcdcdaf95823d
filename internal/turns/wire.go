package turns

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

// wire is c as it goes to a caller.
func wire(c checkpoint.Checkpoint) *api.Checkpoint {
	out := &api.Checkpoint{
		N: c.N, Ref: c.Ref, Commit: c.Commit, Tree: c.Tree, Head: c.Head, Kind: string(c.Kind),
		Pane: c.Pane.ID, Window: c.Pane.Window, Session: c.Pane.Session, Turn: c.Turn, State: c.State, Label: c.Label,
		Worktree: c.Worktree, At: c.At.UTC(), Agent: c.Agent, AgentSession: c.AgentSession,
		LeftOut: make([]api.LeftOut, 0, len(c.LeftOut)), LeftOutCount: c.LeftOutCount, Late: c.Late, Damaged: c.Damaged,
	}
	if c.Base != nil {
		out.Base = &api.Base{Name: c.Base.Name, Head: c.Base.Head, Tree: c.Base.Tree}
	}
	for _, l := range c.LeftOut {
		out.LeftOut = append(out.LeftOut, leftOut(l))
	}
	return out
}

func leftOut(l checkpoint.LeftOut) api.LeftOut {
	out := api.LeftOut{Path: l.Path, Reason: l.Reason}
	if !utf8.ValidString(l.Path) {
		out.Path = strings.ToValidUTF8(l.Path, string(utf8.RuneError))
		out.PathBase64 = base64.StdEncoding.EncodeToString([]byte(l.Path))
	}
	return out
}
