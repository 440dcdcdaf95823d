// Package agenttest is the conformance suite of the agents' adapters: what holds
// for each of them, whatever its agent writes.
package agenttest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
)

// Adapter is what the rest of turnback asks of an agent's adapter.
type Adapter interface {
	Parse(event string, object []byte, env func(string) string) (api.AgentReport, error)
	Notice(text string) []byte
	EndsInInterrupt(transcript string) bool
}

// Sample is a payload as the agent writes it.
type Sample struct {
	Event  string
	Object string // a JSON object
	Kind   api.ReportKind
}

// secret stands in texts that must not come out in an error.
const secret = "SECRET"

// Run checks the adapter of the agent name. There should be a sample of every
// kind of report that the agent can make.
func Run(t *testing.T, name string, a Adapter, samples []Sample) {
	t.Helper()
	for i, s := range samples {
		t.Run(fmt.Sprintf("%d %s", i, s.Event), func(t *testing.T) {
			checkSample(t, name, a, s)
			checkMutants(t, a, s)
			checkCut(t, a, s)
		})
	}
	t.Run("an event that is not known", func(t *testing.T) {
		for _, event := range []string{"", "no such event", "../x", "\xff"} {
			r, err := a.Parse(event, []byte(`{}`), noEnv)
			if err != nil || r.Kind != api.ReportSeen || r.Agent != name {
				t.Errorf("Parse(%q) = %+v, %v; want a sign of life", event, r, err)
			}
		}
	})
	t.Run("a notice", func(t *testing.T) { checkNotice(t, a) })
	t.Run("transcripts that are none", func(t *testing.T) {
		dir := t.TempDir()
		for _, path := range []string{"", dir, filepath.Join(dir, "missing"), "\x00"} {
			if a.EndsInInterrupt(path) {
				t.Errorf("%q ends in an interrupt", path)
			}
		}
	})
}

func noEnv(string) string { return "" }

func checkSample(t *testing.T, name string, a Adapter, s Sample) {
	t.Helper()
	r, err := a.Parse(s.Event, []byte(s.Object), noEnv)
	if err != nil || r.Kind != s.Kind || r.Agent != name || r.Event != s.Event {
		t.Errorf("Parse = %+v, %v; want a report of kind %s from %s", r, err, s.Kind, name)
	}
	checkReport(t, r)
	crlf := strings.ReplaceAll(s.Object, "\n", "\r\n")
	if again, err := a.Parse(s.Event, []byte("\r\n"+crlf+"\r\n"), noEnv); err != nil || again.Kind != r.Kind || again.Dir != r.Dir {
		t.Errorf("with line ends of Windows: %+v, %v", again, err)
	}
}

// checkMutants replaces each field by values of every other type: the event
// stays what it is, or cannot be read; nothing breaks, and no path is wrong.
func checkMutants(t *testing.T, a Adapter, s Sample) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.Object), &fields); err != nil {
		t.Fatalf("the sample is no object: %v", err)
	}
	values := []string{`null`, `true`, `-1.5`, `""`, `"` + secret + `\ud800"`, `[]`, `[1,"x",null]`, `{}`, `{"a":[{}]}`, `"C:\\` + secret + `"`}
	for key, original := range fields {
		for _, value := range values {
			fields[key] = json.RawMessage(value)
			object, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Parse(s.Event, object, noEnv)
			if err != nil {
				checkError(t, err)
				continue
			}
			checkReport(t, r)
		}
		fields[key] = original
	}
}

// checkCut gives the adapter every beginning of the sample.
func checkCut(t *testing.T, a Adapter, s Sample) {
	t.Helper()
	object := strings.TrimSpace(s.Object)
	for end := range object {
		if _, err := a.Parse(s.Event, []byte(object[:end]), noEnv); err == nil {
			t.Errorf("a payload that is cut at byte %d is read", end)
		}
	}
}

func checkReport(t *testing.T, r api.AgentReport) {
	t.Helper()
	for _, p := range append([]string{r.Dir, r.Transcript}, r.Paths...) {
		if p != "" && !filepath.IsAbs(p) {
			t.Errorf("the path %q is not absolute", p)
		}
	}
	if r.Kind == "" {
		t.Error("a report without a kind")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("the report cannot be sent: %v", err)
	}
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error holds a text of the agent: %v", err)
	}
}

func checkNotice(t *testing.T, a Adapter) {
	t.Helper()
	const text = "turnback: turn 5 not saved: \"disk\"\n\x1b[31m<&>"
	notice := a.Notice(text)
	var value any
	if err := json.Unmarshal(notice, &value); err != nil || strings.Contains(string(notice), "\n") {
		t.Errorf("the notice %q is not one JSON value on one line: %v", notice, err)
	}
	if !strings.Contains(fmt.Sprint(value), text) {
		t.Errorf("the notice %q lost its text", notice)
	}
}
