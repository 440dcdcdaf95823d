package collapse_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// large is a history of about so many bytes: source texts with their escapes, and
// a span in the middle when one is wanted.
func large(p collapse.Provider, size int, span bool) []byte {
	code := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"read %q: %w\", path, err) // <é>\n\t}\n", 60)
	steps := []step{{prompt: []string{"go"}}}
	for n := 0; n*len(code) < size*9/10; n++ {
		s := step{said: fmt.Sprintf("step %d: %s", n, code[:200]), calls: []generatedCall{{kind: explore, id: fmt.Sprintf("call_%d", n), ok: true}}, typed: []string{code}}
		if middle := size / len(code) / 2; span && (n == middle || n == middle+100) {
			s.calls[0].kind = opens
			if n > middle {
				s.calls[0].kind = closes
			}
		}
		steps = append(steps, s)
	}
	return bodyOf(p, render(p, steps, false))
}

func BenchmarkCollapse(b *testing.B) {
	const size = 5 << 20
	for _, p := range providers() {
		for _, span := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s span=%v", p, span), func(b *testing.B) {
				body := large(p, size, span)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					got := collapse.Collapse(p, conversation.OtherAgent, body)
					if len(got.Spans) > 0 != span {
						b.Fatalf("%d spans, reason %q", len(got.Spans), got.Reason)
					}
				}
			})
		}
	}
}

// A body of 5 MB takes at most 30 ms, and four times its size in memory; one
// without a checkpoint is not read.
func TestLimitsOfALargeBody(t *testing.T) {
	const size, limit = 5 << 20, 30 * time.Millisecond
	for _, p := range providers() {
		body := large(p, size, true)
		fastest, most := time.Hour, uint64(0)
		for try := 0; try < 10 || try < 100 && fastest > limit; try++ {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got := collapse.Collapse(p, conversation.OtherAgent, body)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if len(got.Spans) != 1 {
				t.Fatalf("%s: %d spans, reason %q", p, len(got.Spans), got.Reason)
			}
			fastest, most = min(fastest, took), max(most, after.TotalAlloc-before.TotalAlloc)
		}
		// The fastest, since other programs run on the machine as well.
		if fastest > limit {
			t.Errorf("%s: %v for %d bytes", p, fastest, len(body))
		}
		if most > 4*uint64(len(body)) {
			t.Errorf("%s: %d bytes of memory for %d", p, most, len(body))
		}
		without := large(p, size, false)
		fastest = time.Hour
		for try := 0; try < 10 || try < 100 && fastest > 2*time.Millisecond; try++ {
			start := time.Now()
			collapse.Collapse(p, conversation.OtherAgent, without)
			fastest = min(fastest, time.Since(start))
		}
		if fastest > 2*time.Millisecond {
			t.Errorf("%s: %v for a body without a checkpoint", p, fastest)
		}
		if n := testing.AllocsPerRun(5, func() { collapse.Collapse(p, conversation.OtherAgent, without) }); n != 0 {
			t.Errorf("%s: a body without a checkpoint is read: %v allocations", p, n)
		}
	}
	// Many small messages are the worst for memory.
	small := bodyOf(collapse.Chat, append(strings.Split(strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"hi"};`, 100_000), ";"), ";"),
		chatCalls("null", chatCall("c", "turnback_checkpoint", `{"goal":"g"}`)), tool("c", conversation.CreatedText("g")),
		chatCalls("null", chatCall("w", "turnback_rewind", `{"report":"R"}`)), tool("w", conversation.RewindText())))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := collapse.Collapse(collapse.Chat, conversation.OtherAgent, small)
	runtime.ReadMemStats(&after)
	if most := after.TotalAlloc - before.TotalAlloc; len(got.Spans) != 1 || most > 16*uint64(len(small)) {
		t.Errorf("%d spans, %d bytes of memory for %d", len(got.Spans), most, len(small))
	}
}
