package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation/session"
)

// outlined is the tree in short lines, ids by their order in the file.
func outlined(s *session.Session) string {
	var out strings.Builder
	names := map[string]string{"": "-"}
	for i, e := range s.Entries() {
		names[e.ID] = itoa(i + 1)
	}
	for _, n := range s.Outline() {
		mark := " "
		if n.On {
			mark = "*"
		}
		fmt.Fprintf(&out, "%s %s<-%s %s %q\n", mark, names[n.ID], names[n.Parent], n.Kind, n.Text)
	}
	return out.String()
}

func marked(s *session.Session) string {
	var out strings.Builder
	for _, m := range s.Marks() {
		fmt.Fprintf(&out, "%s %s %d %q\n", m.Goal, m.End, m.Number, m.Report)
	}
	return out.String()
}

// TestOutline has a checkpoint that a rewind closed, one that was abandoned, a
// refused one, and one that is open; then the conversation goes back to before
// the first rewind.
func TestOutline(t *testing.T) {
	h := newHarness(t)
	h.user("find the bug") // 1
	c := h.checkpoint("the bug")
	h.step("", c) // 2, 3
	h.must(h.s.Saved(c.CallID, 7))
	h.step("", h.read("a.go"), h.checkpoint("refused")) // 5 to 7
	h.step("Found.", h.rewind("it is in a.go\nreally")) // 8 to 10
	h.says("Done.")                                     // 11
	left := h.s.Leaf()
	h.user("and the other")               // 12
	h.step("", h.checkpoint("the other")) // 13, 14
	_, err := h.s.Abandon()               // 15
	h.must(err)
	h.step("", h.checkpoint("a third")) // 16, 17
	wantMarks := "the bug rewound 7 \"it is in a.go\\nreally\"\nthe other cleared 0 \"\"\na third open 0 \"\"\n"
	if diff := cmp.Diff(wantMarks, marked(h.s)); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	tree := `
* 1<-- prompt "find the bug"
* 3<-1 checkpoint "the bug"
  9<-3 end ""
* 10<-3 rewind "it is in a.go\nreally"
* 12<-10 prompt "and the other"
* 14<-12 checkpoint "the other"
* 15<-14 cleared ""
* 17<-15 checkpoint "a third"
* 17<-17 end ""
`
	if diff := cmp.Diff(strings.TrimLeft(tree, "\n"), outlined(h.s)); diff != "" {
		t.Errorf("outline (-want +got):\n%s", diff)
	}
	h.must(h.s.MoveLeaf(left))
	for _, s := range []*session.Session{h.s, h.read1()} {
		if diff := cmp.Diff(strings.Replace(wantMarks, "third open", "third replaced", 1), marked(s)); diff != "" {
			t.Errorf("marks, back at %s (-want +got):\n%s", left, diff)
		}
		got := outlined(s)
		for _, want := range []string{"* 10<-3 rewind", "* 11<-10 end", "  12<-10 prompt", "  17<-17 end"} {
			if !strings.Contains(got, want) {
				t.Errorf("back at %s: no %q in\n%s", left, want, got)
			}
		}
	}
}

// read1 is the session as its file has it.
func (h *harness) read1() *session.Session {
	h.t.Helper()
	s, err := h.lib.Read(h.s.ID())
	h.must(err)
	return s
}
