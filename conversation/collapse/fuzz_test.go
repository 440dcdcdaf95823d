package collapse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

func providers() []collapse.Provider {
	return []collapse.Provider{collapse.Anthropic, collapse.Responses, collapse.Chat, collapse.Gemini, collapse.Pi, collapse.OpenCode}
}

// around is a span of generated steps: those of the checkpoint and the rewind.
type around struct{ open, close int }

// spansOf says by the rules, from the steps alone, what has to be collapsed.
func spansOf(steps []step) []around {
	var found []around
	open := -1
	for i, s := range steps {
		for _, c := range s.calls {
			if c.kind == closes && c.ok && open >= 0 {
				found, open = append(found, around{open, i}), -1
			}
		}
		for _, c := range s.calls {
			if c.kind == opens && c.ok {
				open = i
			}
		}
	}
	return found
}

func FuzzValidHistories(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x03\x00\x00\x00\x00",
		"a long one with many prompts, checkpoints and rewinds 0123456789 zyxwvutsrqponmlkjihgfedcba 42 11 5 5 1 1 1 3 3 3 6 6 6",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		steps := (&tape{bytes: seed}).history()
		for _, p := range providers() {
			checkSteps(t, p, steps)
		}
	})
}

func checkSteps(t *testing.T, p collapse.Provider, steps []step) {
	spans := spansOf(steps)
	body := bodyOf(p, render(p, steps, false))
	if problems := problemsOf(p, body); len(problems) > 0 {
		t.Fatalf("%s: the generated history is not valid: %v", p, problems)
	}
	got := collapse.Collapse(p, conversation.OtherAgent, body)
	if got.Reason != "" || !got.Known || len(got.Spans) != len(spans) {
		t.Fatalf("%s: %d spans, want %d; known %v, reason %q\n%s", p, len(got.Spans), len(spans), got.Known, got.Reason, body)
	}
	if problems := problemsOf(p, got.Body); len(problems) > 0 {
		t.Fatalf("%s: not valid: %v\n%s\nwas\n%s", p, problems, got.Body, body)
	}
	if again := collapse.Collapse(p, conversation.OtherAgent, got.Body); !bytes.Equal(again.Body, got.Body) || again.Reason != "" {
		t.Fatalf("%s: applied again (%q):\n%s\nbefore\n%s", p, again.Reason, again.Body, got.Body)
	}
	checkAround(t, p, body, got.Body)
	checkMarks(t, p, steps, spans, string(got.Body))
	checkElements(t, p, steps, spans, got.Body)
	checkGrowth(t, p, steps)
	if p == collapse.Anthropic {
		checkCacheMark(t, steps)
	}
}

// isIn says whether a step's output and results go; a prompt, or what was typed,
// stays in any case.
func isIn(steps []step, spans []around, i int) bool {
	for _, s := range spans {
		alone := len(steps[s.close].calls) == 1
		if i > s.open && (i < s.close || i == s.close && alone) {
			return true
		}
	}
	return false
}

// checkMarks looks where each text of the history is afterwards: outside of
// spans once; inside, once what the person and the agent said and loaded, not at
// all what was explored, and what the model said at most once, in a report.
func checkMarks(t *testing.T, p collapse.Provider, steps []step, spans []around, after string) {
	t.Helper()
	withoutReports := regexp.MustCompile(`<checkpoint-report>.*?</checkpoint-report>`).ReplaceAllString(after, "")
	want := func(text string, times int, in string) {
		if text == "" {
			return
		}
		quoted := quote(text)
		if n := strings.Count(in, quoted[1:len(quoted)-1]); n != times {
			t.Fatalf("%s: %q is there %d times, want %d, in\n%s", p, text, n, times, in)
		}
	}
	for i, s := range steps {
		in := isIn(steps, spans, i)
		stays, loading := 1, false
		for _, c := range s.calls {
			loading = loading || c.kind == loads && (c.ok || p == collapse.Responses)
		}
		if in {
			stays = 0
		}
		for _, text := range append(append([]string{s.image}, s.prompt...), s.typed...) {
			want(text, 1, after)
		}
		if p != collapse.Gemini {
			want(s.system, min(1, strings.Count(string(bodyOf(p, render(p, steps, false))), strings.Trim(quote(s.system), `"`))), after)
		}
		want(s.said, stays, withoutReports)
		if keepsThoughts := loading && (p == collapse.Anthropic || p == collapse.Responses); s.thinks != "" && !(p == collapse.Chat && len(s.calls) == 0) {
			if keepsThoughts {
				want(s.thinks, 1, after)
			} else {
				want(s.thinks, stays, after)
			}
		}
		for _, c := range s.calls {
			times := stays
			if c.kind == loads && (p == collapse.Anthropic && c.ok || p == collapse.Responses) {
				times = 1
			}
			if c.kind == explore || c.kind == loads {
				want("argument of "+c.id+";", times, after)
				want("result of "+c.id+";", times, after)
			}
		}
	}
	for _, s := range spans {
		for _, c := range steps[s.close].calls {
			if c.kind == closes && c.ok {
				times := 2 // in the report, and in the call that stays
				if len(steps[s.close].calls) == 1 {
					times = 1
				}
				want("report of "+c.id+";", times, after)
				break
			}
		}
	}
}

// checkElements wants each element outside of spans byte for byte, in order.
func checkElements(t *testing.T, p collapse.Provider, steps []step, spans []around, after []byte) {
	t.Helper()
	list := listOf(t, p, after)
	at := 0
	for i, s := range steps {
		opened := false
		for _, a := range spans {
			opened = opened || a.open == i
		}
		if opened || isIn(steps, spans, i) || i > 0 && isIn(steps, spans, i-1) && steps[i].isPrompt() {
			continue // it changed, or is between
		}
		for _, element := range render(p, []step{s}, false) {
			inSpan := false
			for _, a := range spans {
				inSpan = inSpan || i > a.open && i < a.close
			}
			if inSpan || p == collapse.Anthropic && strings.HasPrefix(element, `{"role":"system"`) {
				continue // may be moved, or merged
			}
			for at < len(list) && list[at] != element {
				at++
			}
			if at == len(list) {
				t.Fatalf("%s: outside of the spans, and changed or gone: %s\nin\n%s", p, element, after)
			}
			at++
		}
	}
}

// checkGrowth sends the history as it grows: what was sent stays at the front,
// but where a span is collapsed, up to its checkpoint.
func checkGrowth(t *testing.T, p collapse.Provider, steps []step) {
	t.Helper()
	before, spans := "", 0
	for n := 1; n <= len(steps); n++ {
		if last := steps[n-1]; !last.isPrompt() && len(last.calls) == 0 {
			continue // the model's answer: no request ends there
		}
		got := collapse.Collapse(p, conversation.OtherAgent, bodyOf(p, render(p, steps[:n], false)))
		list := strings.Join(listOf(t, p, got.Body), ", ")
		if len(got.Spans) == spans && !strings.HasPrefix(list, before) {
			t.Fatalf("%s: step %d changes what was sent before:\n%s\nbefore\n%s", p, n, list, before)
		}
		before, spans = list, len(got.Spans)
	}
}

// checkCacheMark puts a cache mark on the end of the history: afterwards there is
// one as well, in a valid place.
func checkCacheMark(t *testing.T, steps []step) {
	t.Helper()
	if last := steps[len(steps)-1]; !last.isPrompt() && len(last.calls) == 0 {
		return
	}
	body := bodyOf(collapse.Anthropic, render(collapse.Anthropic, steps, true))
	got := collapse.Collapse(collapse.Anthropic, conversation.OtherAgent, body)
	if n := bytes.Count(got.Body, []byte("cache_control")); n != 1 {
		t.Fatalf("%d cache marks:\n%s\nbefore\n%s", n, got.Body, body)
	}
	if problems := problemsOf(collapse.Anthropic, got.Body); len(problems) > 0 {
		t.Fatal(problems)
	}
}

// FuzzBytes: any bytes, as any provider's. What is no JSON comes back as it is;
// what is JSON stays JSON.
func FuzzBytes(f *testing.F) {
	for _, p := range providers() {
		steps := (&tape{bytes: []byte("\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x03\x00\x00\x00\x00")}).history()
		f.Add(bodyOf(p, render(p, steps, true)))
	}
	f.Add([]byte(`{"messages":"Checkpoint created."}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range providers() {
			for _, host := range []conversation.Host{conversation.OtherAgent, conversation.OwnAgent} {
				got := collapse.Collapse(p, host, body)
				if same := bytes.Equal(got.Body, body); !json.Valid(body) && !same || same != (len(got.Spans) == 0) {
					t.Fatalf("%s: %d spans, reason %q: %s", p, len(got.Spans), got.Reason, got.Body)
				}
				if json.Valid(body) && !json.Valid(got.Body) {
					t.Fatalf("%s: no JSON any more: %s", p, got.Body)
				}
			}
		}
	})
}

// TestGeneratedHistories runs what the fuzz test would, on histories that are the
// same each time.
func TestGeneratedHistories(t *testing.T) {
	t.Parallel()
	spans := 0
	for seed := range 80 {
		random := make([]byte, 20+seed%150)
		state := uint32(seed*2654435761 + 1)
		for i := range random {
			state = state*1664525 + 1013904223
			random[i] = byte(state >> 24)
		}
		steps := (&tape{bytes: random}).history()
		spans += len(spansOf(steps))
		for _, p := range providers() {
			t.Run(fmt.Sprintf("%s %d", p, seed), func(t *testing.T) { checkSteps(t, p, steps) })
		}
	}
	if spans < 40 {
		t.Errorf("only %d spans in all", spans)
	}
}
