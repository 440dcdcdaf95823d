package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/turnback/turnback/internal/agents/transcript"
)

// PlaceNow returns the Place, as JSON, that the transcript at path has come to: its
// newest entry behind which no call waits for its result. before is the id of a
// prompt that does not belong to it any more; empty: none. The place is empty when
// the transcript does not tell.
func (Adapter) PlaceNow(path, before string) string {
	t, err := readTail(path)
	if err != nil {
		return ""
	}
	if before != "" {
		if i := slices.IndexFunc(t.chain, func(e entry) bool { return e.PromptID == before }); i >= 0 {
			t.chain = t.chain[:i]
		}
	}
	return placeJSON(Place{Path: path, UUID: t.settled(), Size: t.size})
}

// PlaceOfCall returns the Place, as JSON, behind the results of the calls that were
// made together with a call. They may not be in the transcript yet.
func (Adapter) PlaceOfCall(path, call string) string {
	return placeJSON(Place{Path: path, Call: call})
}

func placeJSON(p Place) string {
	out, err := json.Marshal(p)
	if err != nil || p.Path == "" || p.UUID == "" && p.Call == "" {
		return ""
	}
	return string(out)
}

// settled is the id of the newest entry behind which no call is without its
// result.
func (t tail) settled() string {
	at, open := "", batch{}
	for _, e := range t.chain {
		if e.Type != "user" && e.Type != "assistant" {
			continue
		}
		if open.take(e); len(open.waiting) == 0 {
			at = e.UUID
		}
	}
	return at
}

// batch are the calls of one message whose results are not there yet.
type batch struct {
	message string
	waiting []string
}

// take takes in an entry: its calls, and the results in it.
func (b *batch) take(e entry) {
	calls, results := e.tools()
	if e.Type == "assistant" && e.Message.ID != b.message { // older ones get no results any more
		b.message, b.waiting = e.Message.ID, nil
	}
	b.waiting = append(b.waiting, calls...)
	b.waiting = slices.DeleteFunc(b.waiting, func(id string) bool { return slices.Contains(results, id) })
}

// tools are the ids of the calls in an entry, and of the calls that have their
// results in it.
func (e entry) tools() (calls, results []string) {
	var blocks []struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Result string `json:"tool_use_id"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return nil, nil
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			calls = append(calls, b.ID)
		case "tool_result":
			results = append(results, b.Result)
		}
	}
	return calls, results
}

// endOfCall is the id of the entry with the last result of the calls that were made
// together with a call.
func endOfCall(path, call string) (string, error) {
	f, err := transcript.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var made batch
	seen, end := false, ""
	for lines := bufio.NewReaderSize(f, 1<<20); err == nil; {
		var line []byte
		line, err = transcript.ReadLine(lines)
		e, ok := parseEntry(line)
		if !ok || e.Type != "user" && e.Type != "assistant" {
			continue
		}
		calls, results := e.tools()
		if seen && e.Type == "assistant" && e.Message.ID != made.message || seen && len(results) == 0 && e.Type == "user" {
			break
		}
		seen = seen || slices.Contains(calls, call)
		if made.take(e); seen && e.Type == "user" {
			end = e.UUID
		}
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read the transcript: %w", err)
	case end == "" || len(made.waiting) > 0:
		return "", errors.New("it does not have the call with its result")
	}
	return end, nil
}
