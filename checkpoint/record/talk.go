package record

// Talk is an agent's conversation at a moment.
type Talk struct {
	Agent   string // empty: there is none
	Session string // the agent's own id
	At      string // where in its transcript it was, opaque here; empty: not known
}

// Of has c tell of the conversation that now gives, if there is one; now may be nil.
func (c *Checkpoint) Of(now func() Talk) {
	if now == nil {
		return
	}
	if t := now(); t.Agent != "" && t.Session != "" {
		c.Agent, c.AgentSession, c.Transcript = t.Agent, t.Session, t.At
	}
}
