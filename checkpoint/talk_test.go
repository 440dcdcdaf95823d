package checkpoint_test

import (
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

// TestEveryKindTellsOfTheConversation saves a start, restores files and the index,
// and looks what their checkpoints tell of the conversation of then.
func TestEveryKindTellsOfTheConversation(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "0\n"})
	asked := 0
	talk := func() checkpoint.Talk {
		asked++
		return checkpoint.Talk{Agent: "claude", Session: "5f2c", At: "here"}
	}
	told := func(what string, c *checkpoint.Checkpoint) {
		t.Helper()
		if c == nil {
			t.Fatalf("%s: no checkpoint", what)
		}
		got, err := r.store.Get(t.Context(), c.Pane.ID, c.N)
		if err != nil || got.Agent != "claude" || got.AgentSession != "5f2c" || got.Transcript != "here" {
			t.Errorf("%s tells of %q %q %q, %v", what, got.Agent, got.AgentSession, got.Transcript, err)
		}
	}
	begin := checkpoint.BeginRequest{Pane: r.request(1).Pane, Turn: 1, SaveStart: true, Talk: talk}
	if b, err := r.store.Begin(t.Context(), begin); err != nil || b.Start != nil || asked != 0 {
		t.Errorf("nothing to save: asked %d times, %+v, %v", asked, b.Start, err)
	}
	r.Write("a", "1\n")
	b, err := r.store.Begin(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	told("start", b.Start)
	r.Write("a", "2\n")
	req := r.request(b.Start.N)
	req.Talk = talk
	res, err := r.store.Restore(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	told("safety", res.Safety)
	if res, err = r.store.RestoreStaged(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	told("safety of the index", res.Safety)
	req.Talk = func() checkpoint.Talk { return checkpoint.Talk{At: "nowhere"} }
	if res, err = r.store.Restore(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if c, err := r.store.Get(t.Context(), req.Pane.ID, res.Safety.N); err != nil || c.Agent+c.AgentSession+c.Transcript != "" {
		t.Errorf("without an agent: %+v, %v", c, err)
	}
}
