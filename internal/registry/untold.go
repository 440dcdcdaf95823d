package registry

import (
	"slices"
	"time"
)

// Untold is what an agent's session is to be told with its next prompt.
type Untold struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"` // the agent's own id
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

// maxUntold bounds what a window keeps for sessions that may never go on.
const maxUntold = 10

// Owing returns w with a text for the session that it has now; w as it is when no
// agent is known.
func (w Window) Owing(text string, at time.Time) Window {
	if w.Agent == "" || w.AgentSession == "" {
		return w
	}
	w.Untold = append(slices.Clone(w.Untold), Untold{Agent: w.Agent, Session: w.AgentSession, Text: text, At: at})
	w.Untold = w.Untold[max(0, len(w.Untold)-maxUntold):]
	return w
}

// Owes tells what is for a session, oldest first, and when the newest of it came.
func (w Window) Owes(agent, session string) (texts []string, newest time.Time) {
	for _, u := range w.Untold {
		if u.Agent == agent && u.Session == session {
			texts, newest = append(texts, u.Text), u.At
		}
	}
	return texts, newest
}

// Heard returns w without what came for a session until a time.
func (w Window) Heard(agent, session string, until time.Time) Window {
	w.Untold = slices.DeleteFunc(slices.Clone(w.Untold), func(u Untold) bool {
		return u.Agent == agent && u.Session == session && !u.At.After(until)
	})
	return w
}

// Tell returns w without what is for a session, and that, oldest first.
func (w Window) Tell(agent, session string) (Window, []string) {
	var texts []string
	var rest []Untold
	for _, u := range w.Untold {
		if u.Agent == agent && u.Session == session {
			texts = append(texts, u.Text)
		} else {
			rest = append(rest, u)
		}
	}
	w.Untold = rest
	return w, texts
}
