package loop

import (
	"crypto/rand"

	"github.com/turnback/turnback/conversation/session"
)

// idLength is that of the ids that we make, of letters and digits: some servers
// take no others.
const idLength = 9

// idsOf are the ids of all calls of a session.
func idsOf(s *session.Session) map[string]bool {
	ids := map[string]bool{}
	for _, e := range s.Entries() {
		if e.Type != session.TypeMessage {
			continue
		}
		for _, call := range e.Message.Calls() {
			ids[call.CallID] = true
		}
	}
	return ids
}

// ownIDs gives a call another id when a call of the session has that already, as
// servers do that count anew in each answer. What a checkpoint saved, and what a
// file tool has shown, is known by the id of the call.
func (a *Agent) ownIDs(m *session.Message) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != session.KindCall {
			continue
		}
		for p.CallID == "" || a.ids[p.CallID] {
			p.CallID = rand.Text()[:idLength]
		}
		a.ids[p.CallID] = true
	}
}
