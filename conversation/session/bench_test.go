package session_test

import (
	"os"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation/session"
)

// bigSession has about this many bytes, in turns of a read and an answer.
func bigSession(b testing.TB, bytes int) *harness {
	b.Helper()
	h := newHarness(b)
	h.must(h.s.Close())
	file, err := os.OpenFile(h.s.Path(), os.O_APPEND|os.O_WRONLY, 0)
	h.must(err)
	defer file.Close()
	text := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"read <%s>: %w\", path, err)\n\t}\n", 300)
	parent := ""
	for size, n := 0, 0; size < bytes; n++ {
		var lines strings.Builder
		for _, m := range []session.Message{
			session.UserMessage("read another one"),
			{Role: session.RoleAssistant, Parts: []session.Part{h.read("a.go")}},
			session.Results(session.Part{Kind: session.KindResult, CallID: "call" + itoa(n+1), Content: []session.Part{session.Text(text)}}),
			{Role: session.RoleAssistant, Parts: []session.Part{session.Text("I have read it.")}},
		} {
			id := "e" + itoa(n) + "-" + string(m.Role) + itoa(lines.Len())
			lines.Write(line(b, session.Entry{ID: id, ParentID: parent, Type: session.TypeMessage, Time: "2026-11-30T12:00:00.000Z", Message: &m}))
			parent = id
		}
		size += lines.Len()
		_, err := file.WriteString(lines.String())
		h.must(err)
	}
	return h
}

// The limit is 2 s for 100 MB.
func BenchmarkOpen100MB(b *testing.B) {
	h := bigSession(b, 100<<20)
	b.ReportAllocs()
	for b.Loop() {
		s, err := h.lib.Open(h.s.ID())
		h.must(err)
		b.StopTimer()
		h.must(s.Close())
		b.StartTimer()
	}
}

func BenchmarkContext100MB(b *testing.B) {
	h := bigSession(b, 100<<20)
	h.reopen()
	for b.Loop() {
		h.s.Context()
	}
}

func BenchmarkAppend(b *testing.B) {
	h := newHarness(b)
	for b.Loop() {
		h.user("x")
	}
}
