package turns

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

// edits reports that a tool writes files below the root.
func (a *agent) edits(files ...string) {
	a.h.t.Helper()
	for _, kind := range []api.ReportKind{api.ReportToolStart, api.ReportToolEnd} {
		a.sends(kind, func(r *api.AgentReport) {
			r.ToolWrites = true
			for _, f := range files {
				r.Paths = append(r.Paths, filepath.Join(a.dir, f))
			}
		})
	}
}

// company is what a save said of other turns and of named files, in words; names
// gives the agent of each pane.
func company(r checkpoint.SaveRequest, names map[string]string) string {
	var with []string
	for _, id := range r.With {
		with = append(with, fmt.Sprintf("%s:%d", names[id.Pane], id.Turn))
	}
	return "with " + strings.Join(with, " ") + "; named " + strings.Join(r.Named, " ")
}

func (h *house) names() map[string]string {
	names := map[string]string{}
	for _, w := range h.records() {
		names[w.ID] = w.AgentSession
	}
	return names
}

func TestTurnsThatOverlapKnowOfEachOther(t *testing.T) {
	h := newHouse(t)
	one, two, store := h.claude(1), h.claude(2), h.store()
	one.prompts("p1", "one")
	one.edits("early.txt")
	two.prompts("q1", "two")
	two.edits("sub/b.txt", "../outside.txt")
	two.sends(api.ReportToolStart, func(r *api.AgentReport) { r.Paths = []string{filepath.Join(h.root(), "read.txt")} })
	store.edit("tree1")
	two.stops()
	two.prompts("q2", "again")
	store.edit("tree2")
	one.edits("a.txt", "early.txt")
	one.stops()
	store.edit("tree3")
	two.stops()
	one.prompts("p2", "alone")
	one.edits("a.txt")
	store.edit("tree4")
	one.stops()
	var got []string
	for _, r := range store.saved() {
		got = append(got, company(r, h.names()))
	}
	equal(t, "saves", strings.Join(got, "\n"), strings.Join([]string{
		"with s1:1; named sub/b.txt",
		"with s2:1 s2:2; named early.txt a.txt",
		"with s1:1; named ",
		"with ; named a.txt",
	}, "\n"))
	h.noProblems()
}

func TestATurnThatChangedNothingIsForgottenByTheOthers(t *testing.T) {
	h := newHouse(t)
	one, two, store := h.claude(1), h.claude(2), h.store()
	one.prompts("p1", "one")
	two.prompts("q1", "a question")
	two.stops()
	store.edit("tree1")
	one.stops()
	saves := store.saved()
	equal(t, "the save", company(saves[len(saves)-1], h.names()), "with ; named ")
}

func TestAnotherDaemonsTurnIsKnownThoughItEndedBefore(t *testing.T) {
	h := newHouse(t)
	theirs := h.claude(1)
	theirs.prompts("p1", "go")
	other := h.second()
	mine := other.claude(2)
	mine.prompts("q1", "mine")
	h.store().edit("tree1")
	theirs.stops()
	theirs.prompts("p2", "again")
	h.store().edit("tree2")
	theirs.stops()
	h.store().edit("tree3")
	mine.stops()
	saves := h.store().saved()
	equal(t, "their second", company(saves[1], h.names()), "with s2:1; named ")
	equal(t, "mine", company(saves[2], h.names()), "with s1:1 s1:2; named ")
}

// TestWhatWasNamedOutlivesTheDaemon kills the daemon in the middle of a turn
// that overlaps with another, and before a save that is due.
func TestWhatWasNamedOutlivesTheDaemon(t *testing.T) {
	h := newHouse(t)
	one, two, store := h.claude(1), h.claude(2), h.store()
	one.prompts("p1", "one")
	one.edits("a.txt")
	two.prompts("q1", "two")
	one.edits("b.txt")
	h.kill()
	h.start()
	store.edit("tree1")
	one.edits("c.txt")
	one.stops()
	saves := store.saved()
	equal(t, "the save", company(saves[len(saves)-1], h.names()), "with s2:1; named a.txt b.txt c.txt")
}

func TestANamedFileIsFoundThroughLinks(t *testing.T) {
	h := newHouse(t)
	claude, other, store := h.claude(1), h.claude(2), h.store()
	link := filepath.Join(h.dir, "link")
	for target, name := range map[string]string{h.root(): link, "real": filepath.Join(h.root(), "inner"), "target.txt": filepath.Join(h.root(), "l.txt")} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"real/x", "target.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.root(), f)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.root(), f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other.prompts("q1", "other")
	claude.prompts("p1", "one")
	claude.sends(api.ReportToolStart, func(r *api.AgentReport) {
		r.ToolWrites = true
		r.Paths = []string{link + "/new/deep.txt", link + "/inner/x", link + "/l.txt", "relative.txt"}
	})
	store.edit("tree1")
	claude.stops()
	named := store.saved()[0].Named
	slices.Sort(named)
	equal(t, "named", strings.Join(named, " "), "l.txt new/deep.txt real/x target.txt")
}

// TestNamingFilesAloneWritesNoRecord counts the record's changes: nobody needs
// the names while the turn is the only one.
func TestNamingFilesAloneWritesNoRecord(t *testing.T) {
	h := newHouse(t)
	claude, other := h.claude(1), h.claude(2)
	claude.prompts("p1", "one")
	before := h.onDisk()
	claude.edits("a.txt")
	equal(t, "the record while alone", h.onDisk(), before)
	other.prompts("q1", "two")
	equal(t, "the record has the name once another turn begins", strings.Contains(h.onDisk(), "a.txt"), true)
}

// TestATurnSwallowedByALateSaveSaysSo has the store answer as it does when a late
// save of the turn before already held what this turn did.
func TestATurnSwallowedByALateSaveSaysSo(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	claude.stops()
	store.set(func() { store.together = 1 })
	claude.prompts("p2", "two")
	claude.stops()
	notes := store.noted()
	equal(t, "notes", len(notes), 1)
	equal(t, "the reason", notes[0].Reason, "saved together with turn 1")
	equal(t, "the turn", notes[0].Turn, 2)
}

func TestTheStoreIsToldSinceWhenTheAgentGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		claude, store := h.claude(1), h.store()
		store.takes(5 * time.Second)
		began := time.Now()
		claude.prompts("p1", "one")
		claude.edits("a.txt") // waits for the start until it is there
		store.edit("tree1")
		ended := time.Now()
		claude.stops()
		time.Sleep(20 * time.Second)
		equal(t, "start", store.lastBegin().LetGo().Sub(began), hookWait)
		equal(t, "end", store.saved()[0].LetGo().Sub(ended), hookWait)
	})
}

// TestB112ARetryWithinOnePromptKeepsWhatWasBefore has the agent fail in the middle
// and start over with the same prompt.
func TestB112ARetryWithinOnePromptKeepsWhatWasBefore(t *testing.T) {
	h := newHouse(t)
	claude, store := h.claude(1), h.store()
	claude.prompts("p1", "one")
	store.edit("tree1")
	claude.sends(api.ReportFailed)
	claude.prompts("p1", "one")
	store.edit("tree2")
	claude.stops()
	equal(t, "calls", store.did(), "begin claude 1, save claude 1 errored, save claude 1 done")
	for _, save := range store.saved() {
		equal(t, "the side before of "+save.State, save.Base.Tree, "tree0")
	}
}
