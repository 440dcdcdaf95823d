//go:build unix

package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Lines of a transcript.
const (
	linePrompt    = `{"type":"user","uuid":"u1","parentUuid":null,"isSidechain":false,"promptId":"p1","message":{"role":"user","content":"first"}}`
	linePrompt2   = `{"type":"user","uuid":"u2","isSidechain":false,"promptId":"p2","message":{"role":"user","content":"second"}}`
	lineReply     = `{"type":"assistant","uuid":"a1","isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done."}]}}`
	lineThinking  = `{"type":"assistant","uuid":"a2","isSidechain":false,"message":{"id":"m2","role":"assistant","content":[{"type":"thinking","thinking":"x"}]}}`
	lineTwoBlocks = `{"type":"assistant","uuid":"a4","isSidechain":false,"message":{"id":"m4","role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"Done."}]}}`
	lineResult    = `{"type":"user","uuid":"u3","isSidechain":false,"promptId":"p1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"[Request interrupted by user]"}]}}`
	lineInterrupt = `{"type":"user","uuid":"u4","isSidechain":false,"promptId":"p1","interruptedMessageId":"m1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
	lineIntTool   = `{"type":"user","uuid":"u5","isSidechain":false,"promptId":"p1","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`
	lineIntString = `{"type":"user","uuid":"u6","isSidechain":false,"message":{"role":"user","content":"[Request interrupted by user]"}}`
	lineQuoted    = `{"type":"user","uuid":"u7","isSidechain":false,"promptId":"p3","message":{"role":"user","content":"why [Request interrupted by user]?"}}`
	lineSidechain = `{"type":"assistant","uuid":"s1","isSidechain":true,"agentId":"x","message":{"content":[{"type":"text","text":"sub"}]}}`
	lineDuration  = `{"type":"system","subtype":"turn_duration","uuid":"y1","isSidechain":false}`
	lineOutside   = `{"type":"last-prompt","leafUuid":"a1","lastPrompt":"first"}`
	lineBlob      = `{"type":"api-request-blob","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`
	lineMistyped  = `{"type":"assistant","uuid":"a3","isSidechain":false,"message":"text"}`
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestEndsInInterrupt(t *testing.T) {
	long := `{"type":"file-history-snapshot","x":"` + strings.Repeat("y", tailSize) + `"}`
	tests := []struct {
		name, text string
		want       bool
	}{
		{"while streaming", lines(linePrompt, lineReply, lineInterrupt), true},
		{"in a tool", lines(linePrompt, lineReply, lineResult, lineIntTool), true},
		{"content as a string", lines(linePrompt, lineIntString), true},
		{"lines outside of the conversation follow", lines(linePrompt, lineInterrupt, lineOutside, lineBlob), true},
		{"a system entry follows", lines(linePrompt, lineInterrupt, lineDuration), true},
		{"a subagent's entry follows", lines(linePrompt, lineInterrupt, lineSidechain), true},
		{"line ends of Windows", strings.ReplaceAll(lines(linePrompt, lineInterrupt), "\n", "\r\n"), true},
		{"half a line follows", lines(linePrompt, lineInterrupt) + lineReply[:40], true},
		{"no line end at the end", linePrompt + "\n" + lineInterrupt, true},
		{"the next prompt follows", lines(linePrompt, lineInterrupt, linePrompt2), false},
		{"a reply follows", lines(linePrompt, lineInterrupt, lineReply), false},
		{"an entry of another shape follows", lines(linePrompt, lineInterrupt, lineMistyped), false},
		{"a plain end", lines(linePrompt, lineReply, lineDuration), false},
		{"a tool's output that reads like it", lines(linePrompt, lineReply, lineResult), false},
		{"a prompt that quotes it", lines(lineQuoted), false},
		{"only outside of the conversation", lines(linePrompt, lineReply, lineBlob), false},
		{"only in a subagent", lines(linePrompt, strings.Replace(lineInterrupt, `"isSidechain":false`, `"isSidechain":true`, 1)), false},
		{"empty", "", false},
		{"garbage", "\x00\xff{{{\n[]\nnull\n3\n", false},
		{"out of reach", lines(linePrompt, lineInterrupt, long), false},
		{"behind a long line", lines(linePrompt, long, lineInterrupt), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := New().EndsInInterrupt(write(t, tt.text)); got != tt.want {
				t.Errorf("EndsInInterrupt = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	tests := []struct {
		name, text, prompt, message, want string
	}{
		{"the turn's prompt", lines(linePrompt, lineReply, lineDuration), "p1", "Done.", "a1"},
		{"another message, but the turn's prompt", lines(linePrompt, lineReply), "p1", "other", "a1"},
		{"the last entry has no text", lines(linePrompt, lineReply, lineThinking), "p1", "Done.", "a2"},
		{"a subagent wrote last", lines(linePrompt, lineReply, lineSidechain), "p1", "Done.", "a1"},
		{"half a line at the end", lines(linePrompt, lineReply) + lineThinking[:30], "p1", "Done.", "a1"},
		{"stale: the prompt is another", lines(linePrompt, lineReply), "p2", "Done.", ""},
		{"no prompt in reach, the message is the same", lines(lineReply), "p1", "Done. \n", "a1"},
		{"no prompt in reach, the text is behind another block", lines(lineTwoBlocks), "p1", "Done.", "a4"},
		{"no prompt in reach, the message is another", lines(lineReply), "p1", "other", ""},
		{"no prompt in reach, no message", lines(lineReply), "p1", "", ""},
		{"an event without a prompt id", lines(linePrompt, lineReply), "", "Done.", "a1"},
		{"no reply", lines(linePrompt), "p1", "Done.", ""},
		{"empty", "", "p1", "Done.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.text)
			got := place(path, tt.prompt, tt.message)
			if tt.want == "" {
				if got != "" {
					t.Errorf("place = %s, want none", got)
				}
				return
			}
			var p Place
			if err := json.Unmarshal([]byte(got), &p); err != nil {
				t.Fatalf("place = %q: %v", got, err)
			}
			if want := (Place{Path: path, UUID: tt.want, Size: int64(len(tt.text))}); p != want {
				t.Errorf("place = %+v, want %+v", p, want)
			}
		})
	}
}

func TestTranscriptsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"none": "", "missing": filepath.Join(dir, "missing"), "a folder": dir, "a FIFO": fifo, "not absolute": "x",
	} {
		if New().EndsInInterrupt(path) || place(path, "p1", "Done.") != "" {
			t.Errorf("%s: something was read", name)
		}
	}
}

// The report of a stop carries the place, and one with a stale transcript none.
func TestStopReadsTheTranscript(t *testing.T) {
	path := write(t, lines(linePrompt, lineReply))
	for prompt, want := range map[string]bool{"p1": true, "p2": false} {
		object, err := json.Marshal(map[string]any{"transcript_path": path, "prompt_id": prompt, "last_assistant_message": "Done."})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []string{"Stop", "StopFailure"} {
			r, err := Adapter{}.Parse(event, object, noEnv)
			if err != nil || (r.TranscriptPlace != "") != want {
				t.Errorf("%s of %s: place %q, %v", event, prompt, r.TranscriptPlace, err)
			}
		}
	}
}
