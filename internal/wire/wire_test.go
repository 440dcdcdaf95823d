package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/wire"
)

func TestCheckpoint(t *testing.T) {
	c := checkpoint.Checkpoint{
		N: 2, Ref: "refs/x", Commit: "c", Tree: "t", Head: "h", Base: &checkpoint.Base{Head: "bh", Tree: "bt", Name: "checkpoint 1"},
		Kind: checkpoint.KindTurn, Pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}, Turn: 3, State: "done",
		Label: "l", Worktree: "/w", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)), Agent: "claude", AgentSession: "s",
		LeftOut: []checkpoint.LeftOut{{Path: "big", Reason: "too large"}, {Path: "a\xff", Reason: "unreadable"}}, LeftOutCount: 2, Late: true, Damaged: "d",
		Uncertain: []string{"u", "b\xff"}, UncertainCount: 3,
	}
	want := api.Checkpoint{
		N: 2, Ref: "refs/x", Commit: "c", Tree: "t", Head: "h", Base: &api.Base{Head: "bh", Tree: "bt", Name: "checkpoint 1"},
		Kind: "turn", Pane: "00d333ce", Window: "build", Session: "api", Turn: 3, State: "done",
		Label: "l", Worktree: "/w", At: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC), Agent: "claude", AgentSession: "s",
		LeftOut: []api.LeftOut{
			{Path: "big", Reason: "too large"}, {Path: "a" + strings.ToValidUTF8("\xff", "\uFFFD"), PathBase64: "Yf8=", Reason: "unreadable"},
		},
		LeftOutCount: 2, Late: true, Damaged: "d",
		Uncertain: []api.KeptItem{{Path: "u"}, {Path: "b" + strings.ToValidUTF8("\xff", "\uFFFD"), PathBase64: "Yv8="}}, UncertainCount: 3,
	}
	if diff := cmp.Diff(want, wire.Checkpoint(c)); diff != "" {
		t.Errorf("wire (-want +got):\n%s", diff)
	}
	if wire.Checkpoint(checkpoint.Checkpoint{}).LeftOut == nil {
		t.Error("an empty list is null")
	}
}
