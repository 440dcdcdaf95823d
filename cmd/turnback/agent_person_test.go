//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// costing is a reply with its usage.
func costing(tokens int, r fakemodel.ChatReply) fakemodel.ChatReply {
	r.Usage = map[string]int{"prompt_tokens": tokens}
	return r
}

// fails runs a command that must end with a status, and returns its error.
func (h *agentHouse) fails(status int, args ...string) api.Error {
	h.t.Helper()
	cmd := h.command(append(args, "--json")...)
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != status {
		h.t.Errorf("turnback %s: status %d, want %d: %v\n%s", strings.Join(args, " "), code, status, err, out)
	}
	var e struct{ Error api.Error }
	if err := json.Unmarshal(out, &e); err != nil {
		h.t.Fatalf("turnback %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return e.Error
}

func (h *agentHouse) wants(pattern string, args ...string) string {
	h.t.Helper()
	out := h.does(args...)
	if !regexp.MustCompile(pattern).MatchString(out) {
		h.t.Errorf("turnback %s does not match %q:\n%s", strings.Join(args, " "), pattern, out)
	}
	return out
}

// testAgentConversations looks at a session with a rewind as a person does.
func testAgentConversations(t *testing.T, bin string) {
	h := newAgentHouse(
		t, bin,
		costing(1000, toolCalls("", "checkpoint", "goal", "find the bug")),
		costing(1500, toolCalls("", "read", "path", "sum.sh", "", "read", "path", "test.sh")),
		costing(3000, toolCalls("", "rewind", "report", "sum.sh subtracts\nand test.sh is right")),
		costing(1200, fakemodel.ChatReply{Text: "It subtracts."}),
		costing(1300, toolCalls("", "checkpoint", "goal", "mend it")),
		costing(1400, fakemodel.ChatReply{Text: "later", Keep: true}),
	)
	h.agent("-p", "find the bug\nplease", "--conversation")
	h.agent("-p", "mend it", "--conversation", "--continue")
	want := int64(0)
	for i := range h.model.Requests() {
		want += []int64{1000, 1500, 3000, 1200, 1300, 1400, 1400, 1400, 1400, 1400}[i]
	}
	var stats api.ConversationStatsResult
	if err := json.Unmarshal([]byte(h.does("conversation", "stats", "--json")), &stats); err != nil {
		t.Fatal(err)
	}
	if got := stats.Total; got.TokensAfter != want || got.Requests != len(h.model.Requests()) || got.TokensBefore <= want || got.BytesBefore <= got.BytesAfter {
		t.Errorf("stats: %+v, want %d tokens in %d requests, and more before", got, want, len(h.model.Requests()))
	}
	h.wants(`(?m)^all +\d+ +`+jsonNumber(want)+` +~\d+ +~\d+ %$`, "conversation", "stats")
	h.wants(`(?m)^turnback +`+stats.Sessions[0].Session+` .* 2 +1 +`+jsonNumber(want)+`, before ~\d+ +open: mend it$`, "conversation", "list")
	id := stats.Sessions[0].Session
	tree := h.wants(`(?s)
\* +\S+ +prompt +find the bug \.\.\.
\* +\S+ +checkpoint +find the bug \(rewound, work-tree checkpoint \d+\)
  - +\S+ +left +turnback agent --resume `+id+`/[0-9a-f]{12}
\* +\S+ +report +sum\.sh subtracts \.\.\.
\* +\S+ +prompt +mend it
\* +\S+ +checkpoint +mend it \(open, work-tree checkpoint \d+\)
\* +\S+ +here +entry [0-9a-f]{12}
`, "conversation", "show", id[:12])
	markdown := h.wants("(?s)# Conversation "+id+".*## Report\n\n```\nsum.sh subtracts\nand test.sh is right\n```", "conversation", "export", "--format", "markdown")
	if strings.Contains(markdown, "\n## End") {
		t.Errorf("markdown tells of ends:\n%s", markdown)
	}
	var shown api.ConversationShowResult
	if err := json.Unmarshal([]byte(h.does("conversation", "show", "--json")), &shown); err != nil || shown.Conversation.Title != "find the bug" {
		t.Errorf("show --json: %+v, %v", shown.Conversation, err)
	}
	file, err := os.ReadFile(shown.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	if lines := h.does("conversation", "export", "--format", "jsonl"); lines != string(file) {
		t.Error("the JSON lines are not those of the session's file")
	}
	h.leftBranch(tree, id)
	h.closedByThePerson(id)
}

// leftBranch goes back to the branch that the rewind left, as show tells it.
func (h *agentHouse) leftBranch(tree, id string) {
	h.t.Helper()
	left := regexp.MustCompile(id + `/[0-9a-f]{12}`).FindString(tree)
	h.agent("-p", "what was in test.sh?", "--resume", left, "--fork")
	requests := h.model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "echo FAIL") {
		h.t.Errorf("on the branch that was left the exploration is not sent: %s", last)
	}
}

func (h *agentHouse) closedByThePerson(id string) {
	h.t.Helper()
	h.wants("^Closed the checkpoint of turnback, session "+id+", without a report: mend it\n$", "conversation", "abandon", id)
	if e := h.fails(1, "conversation", "abandon", id); e.Code != api.CodeNoCheckpoint {
		h.t.Errorf("abandon again: %+v", e)
	}
	e := h.fails(1, "conversation", "show", id[:len(id)-1]+"x")
	if e.Code != api.CodeSessionNotFound || e.Hint == nil || e.Hint.DidYouMean == "" {
		h.t.Errorf("a wrong id: %+v", e)
	}
	cmd := h.command("conversation", "export", "--format", "jsnl")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte("jsonl")) {
		h.t.Errorf("a wrong format: status %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	cmd = h.command("__complete", "conversation", "show", "")
	if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte(id+"\tturnback find the bug\n")) {
		h.t.Errorf("completion: %v\n%s", err, out)
	}
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// testAgentBothBack has five turns; conversation and files go back apart and
// together, in any order.
func testAgentBothBack(t *testing.T, bin string) {
	var replies []fakemodel.ChatReply
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		replies = append(replies, toolCalls("", "write", "path", "n.txt", "content", n+"\n"), fakemodel.ChatReply{Text: "wrote " + n})
	}
	h := newAgentHouse(t, bin, replies...)
	h.agent("-p", "turn 1")
	for _, n := range []string{"2", "3", "4", "5"} {
		h.agent("-p", "turn "+n, "--continue")
	}
	place := map[string]string{} // number of the checkpoint, by the turn's label
	for _, c := range h.saved() {
		if c.Kind == "turn" {
			place[c.Label] = jsonNumber(int64(c.N))
		}
	}
	restore := func(turn string, flags ...string) string {
		t.Helper()
		return h.does(append([]string{"checkpoint", "restore", place["turn "+turn]}, flags...)...)
	}
	holds := func(want string) {
		t.Helper()
		if got := h.repo.Read("n.txt"); got != want+"\n" {
			t.Errorf("n.txt holds %q, want %q", got, want)
		}
	}
	// sends is what the model gets when the session is gone on with: the prompts, and
	// the restores since that it is told of, by their turns.
	sends := func(restores string, want ...string) {
		t.Helper()
		h.model.Add(fakemodel.ChatReply{Text: "yes"})
		h.agent("-p", "sure?", "--continue")
		requests := h.model.Requests()
		var got, told []string
		for _, m := range requests[len(requests)-1].Messages {
			switch {
			case m.Role == "user" && strings.HasPrefix(m.Text(), "turnback: "):
				told = append(told, regexp.MustCompile(`as checkpoint (\d+) has them. Changed on disk: n.txt`).FindAllString(m.Text(), -1)...)
			case m.Role == "user":
				got = append(got, m.Text())
			}
		}
		var wantTold []string
		for turn := range strings.SplitSeq(restores, "") {
			wantTold = append(wantTold, "as checkpoint "+place["turn "+turn]+" has them. Changed on disk: n.txt")
		}
		if strings.Join(told, "\n") != strings.Join(wantTold, "\n") {
			t.Errorf("the model is told of restores %q, want %q", told, wantTold)
		}
		if strings.Join(got, ", ") != strings.Join(append(want, "sure?"), ", ") {
			t.Errorf("the model gets %q, want %q", got, want)
		}
	}
	if out := restore("2", "--conversation-only"); !strings.Contains(out, "To go on with it, run: turnback agent --resume ") {
		t.Errorf("no way to go on is told:\n%s", out)
	}
	holds("5")
	sends("", "turn 1", "turn 2")
	restore("4")
	holds("4")
	restore("1")
	holds("1")
	restore("3", "--conversation")
	holds("3")
	sends("413", "turn 1", "turn 2", "turn 3")
	restore("5", "--conversation")
	holds("5")
	sends("5", "turn 1", "turn 2", "turn 3", "turn 4", "turn 5")
	for _, problem := range h.model.Problems() {
		t.Error(problem)
	}
	h.inUse(func() api.Error {
		return h.fails(4, "checkpoint", "restore", place["turn 1"], "--conversation", "--force")
	})
	holds("5")
}

// inUse has the session open while something is tried.
func (h *agentHouse) inUse(try func() api.Error) {
	h.t.Helper()
	n := len(h.model.Requests())
	h.model.Add(fakemodel.ChatReply{Text: "still at it", Hang: true})
	cmd := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, "turnback"), "agent", "--model", "openai/m", "--continue", "-p", "think")
	cmd.Dir, cmd.Env = h.repo.Root, h.env
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.waitForRequests(n + 1)
	e := try()
	if e.Code != api.CodeNotReady || e.Message != "session in use by pid "+jsonNumber(int64(cmd.Process.Pid)) {
		h.t.Errorf("while it is in use: %+v", e)
	}
	if err := cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}
