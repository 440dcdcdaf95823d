// Package codex is the adapter for Codex: it reads the payloads of its hooks, and
// makes the settings by which one process of it runs ours.
//
// What it relies on was measured with version 0.171.0.
package codex

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/internal/agents/payload"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/shell"
)

// Name is the agent's name in reports, commands and settings.
const Name = "codex"

// Adapter reads hooks.
type Adapter struct{}

// Parse turns the payload of a hook into a report.
func (Adapter) Parse(event string, object []byte, _ func(string) string) (api.AgentReport, error) {
	f, err := payload.Parse(object)
	if err != nil {
		return api.AgentReport{}, err
	}
	r := api.AgentReport{
		Agent: Name, Event: event, Kind: api.ReportSeen, SessionID: identifier(f.Text("session_id")), PromptID: identifier(f.Text("turn_id")),
		Subagent: f.Text("agent_id") != "",
	}
	r.Dir, r.Transcript = path(f, "cwd"), path(f, "transcript_path")
	switch event {
	case "UserPromptSubmit":
		r.Kind, r.Prompt = api.ReportPrompt, f.Text("prompt")
		r.TranscriptPlace = place(r.Transcript, r.PromptID, true) // of a turn that ended without a word
	case "Stop":
		r.Kind, r.Message = api.ReportStop, f.Text("last_assistant_message")
		r.TranscriptPlace = place(r.Transcript, r.PromptID, false)
	case "Interrupt":
		r.Kind = api.ReportAborted
		r.TranscriptPlace = place(r.Transcript, r.PromptID, false)
	case "SessionEnd":
		r.Kind, r.Reason = api.ReportSessionEnd, f.Text("reason")
	}
	return r, nil
}

// path reads a field that is an absolute path; anything else is as if it were not
// there.
func path(f payload.Fields, name string) string {
	p := f.Text(name)
	if f.Repaired || !filepath.IsAbs(p) || strings.ContainsAny(p, "\x00"+string(utf8.RuneError)) {
		return ""
	}
	return filepath.Clean(p)
}

// identifier lets an id pass that can be one.
func identifier(id string) string {
	if len(id) > 200 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c == 0x7f || c == utf8.RuneError }) {
		return ""
	}
	return id
}

// Answer is what a hook prints: a notice is shown to the person, and a reminder
// goes to the model, which then goes on. Empty: nothing is to be said.
func (Adapter) Answer(_ string, a api.ConversationReply) []byte {
	var value struct {
		Decision string `json:"decision,omitempty"`
		Reason   string `json:"reason,omitempty"`
		Message  string `json:"systemMessage,omitempty"`
	}
	value.Message = a.Notice
	switch {
	case a.Reminder != "":
		value.Decision, value.Reason = "block", a.Reminder
	case a.Notice == "":
		return nil
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return out
}

// How long Codex waits for a hook, in seconds. Of those at the end of something it
// takes no more, and what it takes is what the hash is of.
const (
	hookTimeout    = 10
	hookTimeoutEnd = 3
)

// sessionFlags is where Codex has settings that were given as arguments.
const sessionFlags = "/<session-flags>/config.toml"

// Hooks are settings, as values of Codex's -c, by which one process of it runs the
// hooks of program. Codex runs a hook only when the person has trusted it, by its
// hash: for these, and this process, the settings say so. What is trusted besides
// stays as it is.
func Hooks(program string) ([]string, error) {
	var sets, trusted []string
	for _, event := range []struct {
		name, label string
		timeout     int
	}{
		{"UserPromptSubmit", "user_prompt_submit", hookTimeout},
		{"Stop", "stop", hookTimeout},
		{"Interrupt", "interrupt", hookTimeoutEnd},
		{"SessionEnd", "session_end", hookTimeoutEnd},
	} {
		command := shell.Word(program) + " hook " + Name + " " + event.name
		hash, err := hashOf(event.label, command, event.timeout)
		if err != nil {
			return nil, fmt.Errorf("work out the hash of a hook: %w", err)
		}
		quoted, err := text(command)
		if err != nil {
			return nil, fmt.Errorf("write down a hook: %w", err)
		}
		sets = append(sets, fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, event.name, quoted, event.timeout))
		trusted = append(trusted, fmt.Sprintf(`"%s:%s:0:0"={trusted_hash="sha256:%s"}`, sessionFlags, event.label, hash))
	}
	return append(sets, "hooks.state={"+strings.Join(trusted, ",")+"}"), nil
}

// hashOf is the hash by which Codex knows a hook.
func hashOf(label, command string, timeout int) (string, error) {
	line, err := text(map[string]any{ // keys in order
		"event_name": label,
		"hooks":      []any{map[string]any{"async": false, "command": command, "timeout": timeout, "type": "command"}},
	})
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:]), err
}

// text is JSON without escapes for HTML; of a string, also TOML.
func text(value any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
