// Package wire gives the values of package checkpoint the form that they have in
// results and events.
package wire

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

// Checkpoint gives a checkpoint its form on the wire.
func Checkpoint(c checkpoint.Checkpoint) api.Checkpoint {
	out := api.Checkpoint{
		N: c.N, Ref: c.Ref, Commit: c.Commit, Tree: c.Tree, Head: c.Head, Kind: string(c.Kind), Pane: c.Pane.ID, Window: c.Pane.Window,
		Session: c.Pane.Session, Turn: c.Turn, State: c.State, Label: c.Label, Worktree: c.Worktree, At: c.At.UTC(), Agent: c.Agent,
		AgentSession: c.AgentSession, LeftOut: LeftOut(c.LeftOut), LeftOutCount: c.LeftOutCount, Late: c.Late, Damaged: c.Damaged,
	}
	for _, p := range c.Uncertain {
		path, raw := Path(p)
		out.Uncertain = append(out.Uncertain, api.KeptItem{Path: path, PathBase64: raw})
	}
	out.UncertainCount = c.UncertainCount
	if b := c.Base; b != nil {
		out.Base = &api.Base{Name: b.Name, Head: b.Head, Tree: b.Tree}
	}
	return out
}

// LeftOut gives left-out paths their form. A list is never null on the wire.
func LeftOut(list []checkpoint.LeftOut) []api.LeftOut {
	out := make([]api.LeftOut, 0, len(list))
	for _, l := range list {
		path, raw := Path(l.Path)
		out = append(out, api.LeftOut{Path: path, PathBase64: raw, Reason: l.Reason})
	}
	return out
}

// Path gives a path for people, and its bytes in base64 when it is not UTF-8.
func Path(path string) (text, raw string) {
	if utf8.ValidString(path) {
		return path, ""
	}
	return strings.ToValidUTF8(path, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(path))
}
