package agentstate

import (
	"slices"
	"time"
)

const (
	// countedPhase is the shortest working phase that counts as a turn when
	// nothing tells its end.
	countedPhase = 5 * time.Second
	// silenceLimit is how long a pane is silent before a working that nobody
	// reported is no longer believed.
	silenceLimit = 30 * time.Second
	// questionAge is the age from which a claim gives way to a question that is
	// on the screen.
	questionAge = 2 * time.Second
	// promptMemory bounds the prompt ids that are remembered, of the newest turn
	// and of the turns before it.
	promptMemory = 16
)

// Machine is what is known of one agent. The zero Machine is an agent of which
// nothing was ever heard. It is a value: Apply returns a changed copy.
type Machine struct {
	State   State     `json:"state,omitempty"`
	Source  Source    `json:"source,omitempty"`  // who claimed State; empty: nobody yet
	Since   time.Time `json:"since"`             // when State was taken on
	Claimed time.Time `json:"claimed"`           // when State was last claimed
	Message string    `json:"message,omitempty"` // what the agent said about State

	Turn         int       `json:"turn"`                     // the open or newest turn; 0: none yet
	TurnOpen     bool      `json:"turn_open"`                // Turn goes on
	TurnLabel    string    `json:"turn_label,omitempty"`     // the prompt of Turn
	TurnStarted  time.Time `json:"turn_started"`             // when Turn began
	WorkingSince time.Time `json:"working_since"`            // start of the newest working phase
	Resting      bool      `json:"resting,omitempty"`        // the agent stopped, but its background tasks keep Turn open
	PromptIDs    []string  `json:"prompt_ids,omitempty"`     // prompts of Turn, oldest first
	OldPrompts   []string  `json:"old_prompt_ids,omitempty"` // prompts of turns before, oldest first
	Covered      *Cover    `json:"covered,omitempty"`        // the claim that a question on the screen stands over
}

// Cover is a claim that stands again when what covers it goes away.
type Cover struct {
	State   State     `json:"state"`
	Source  Source    `json:"source"`
	Since   time.Time `json:"since"`
	Message string    `json:"message,omitempty"`
}

// Outcome is what an event led to.
type Outcome struct {
	Applied bool     // false: a stronger claim stands, or the event does not concern this agent's turn
	Effects []Effect // in the order in which they are to be carried out
}

// Apply returns m after e, which happened at now.
func Apply(m Machine, e Event, now time.Time) (Machine, Outcome) {
	s := step{m: m, e: e, now: now}
	if s.m.State == "" {
		s.m.State = None
	}
	if s.stale() || e.Subagent && !s.concernsPerson() {
		return s.m, Outcome{}
	}
	applied := s.apply()
	return s.m, Outcome{Applied: applied, Effects: s.effects}
}

// Restarted returns m as it is known again after its watcher was away: what it
// was doing is unknown, an open turn stays open.
func Restarted(m Machine, now time.Time) Machine {
	if !m.TurnOpen && m.State != Working && m.State != NeedsInput {
		return m
	}
	m.State, m.Source, m.Since, m.Claimed = Unknown, Stall, now, now
	m.Message, m.Covered = "", nil
	return m
}

// step is one call of Apply in progress.
type step struct {
	m       Machine
	e       Event
	now     time.Time
	effects []Effect
}

// stale reports whether the event belongs to a turn before the newest: a hook
// that was overtaken by the next prompt.
func (s *step) stale() bool {
	return s.e.PromptID != "" && slices.Contains(s.m.OldPrompts, s.e.PromptID)
}

// concernsPerson reports whether a subagent's event changes whether the person
// is waited for, which is all that a subagent can change.
func (s *step) concernsPerson() bool {
	if !s.m.TurnOpen {
		return false
	}
	switch s.e.Kind {
	case Claim:
		return s.e.State == NeedsInput
	case ToolStart, ToolEnd:
		return s.m.State == NeedsInput
	}
	return false
}

func (s *step) apply() bool {
	switch s.e.Kind {
	case Claim:
		return s.claim()
	case Unclaim:
		return s.unclaim()
	case Prompt:
		s.prompt()
	case ToolStart:
		return s.toolStart()
	case ToolEnd:
		return s.toolEnd()
	case Interrupt:
		s.become(Idle, Report)
		s.end(Aborted)
	case Exit:
		s.become(None, Detect)
		s.cutShort()
	case Silence:
		return s.silence()
	default:
		return false
	}
	return true
}

func (s *step) claim() bool {
	if !s.e.State.Valid() || s.e.Source.rank() < 0 {
		return false
	}
	if s.e.Source.rank() < s.m.Source.rank() {
		return s.question()
	}
	if s.m.TurnOpen && s.m.TurnLabel == "" {
		s.m.TurnLabel = s.e.Label
	}
	s.take(s.e.State, s.e.Source)
	return true
}

// question lets a question on the screen stand over a stronger claim that is
// old enough and was made before the pane last wrote something.
func (s *step) question() bool {
	old := s.now.Sub(s.m.Claimed) >= questionAge && s.m.Claimed.Before(s.e.LastOutput)
	if s.e.Source != Screen || s.e.State != NeedsInput || !old {
		return false
	}
	cover := &Cover{State: s.m.State, Source: s.m.Source, Since: s.m.Since, Message: s.m.Message}
	s.take(NeedsInput, Screen)
	s.m.Covered = cover
	return true
}

func (s *step) unclaim() bool {
	c := s.m.Covered
	if c == nil || s.e.Source != s.m.Source {
		return false
	}
	s.m.Covered = nil
	s.m.State, s.m.Source, s.m.Since, s.m.Message = c.State, c.Source, c.Since, c.Message
	s.m.Claimed = s.now
	return true
}

// take carries out a claim that stands.
func (s *step) take(state State, source Source) {
	before := s.m.State
	if s.m.TurnOpen && s.e.Background > 0 && rests(state) {
		s.restInTurn(source)
		return
	}
	s.become(state, source)
	switch state {
	case Working:
		s.m.Resting = false
		if !s.m.TurnOpen {
			s.start(s.e.Label, s.e.PromptID)
		}
	case NeedsInput:
		if s.m.TurnOpen && before != NeedsInput {
			s.emit(TurnPaused{Turn: s.m.Turn})
			s.save(NeedsInput, s.e.Message)
		}
	case Done, Idle, Errored:
		s.end(state)
	case None:
		s.cutShort()
	case Unknown:
		if before == Working && s.counted() {
			s.end(Unknown)
		}
	}
}

// restInTurn notes that the agent stopped while its background tasks run: the
// turn goes on, but what it did so far is saved.
func (s *step) restInTurn(source Source) {
	s.become(Working, source)
	if s.m.Resting {
		return
	}
	s.m.Resting = true
	s.save(Idle, s.e.Message)
}

func (s *step) prompt() {
	id := s.e.PromptID
	switch {
	case s.e.SameTurn && s.m.Turn > 0:
		s.remember(id)
		s.goOn()
	case id != "" && slices.Contains(s.m.PromptIDs, id):
		s.queued()
	default:
		s.cutShort()
		s.become(Working, Report)
		label := s.e.Label
		if s.e.SameTurn {
			label = ""
		}
		s.start(label, id)
	}
}

// queued takes a message that the person typed into the running turn. While the
// agent asks something, the question stands.
func (s *step) queued() {
	if s.m.TurnOpen && s.m.State == NeedsInput {
		return
	}
	s.goOn()
}

func (s *step) toolStart() bool {
	ours := s.e.PromptID != "" && slices.Contains(s.m.PromptIDs, s.e.PromptID)
	switch {
	case s.m.TurnOpen, ours:
		s.goOn()
	default:
		s.become(Working, Report)
		s.start("", s.e.PromptID)
	}
	return true
}

func (s *step) toolEnd() bool {
	if !s.m.TurnOpen {
		return false
	}
	s.goOn()
	return true
}

func (s *step) silence() bool {
	reported := s.m.Source == Report
	if s.m.State != Working || reported || s.now.Sub(s.e.LastOutput) < silenceLimit {
		return false
	}
	counted := s.counted()
	s.become(Unknown, Stall)
	if counted {
		s.end(Unknown)
	}
	return true
}

// counted reports whether the working phase is long enough to be a turn. It
// lasted until the pane's last output, where that is known.
func (s *step) counted() bool {
	end := s.now
	if !s.e.LastOutput.IsZero() {
		end = s.e.LastOutput
	}
	return end.Sub(s.m.WorkingSince) >= countedPhase
}

// become changes the state and nothing else.
func (s *step) become(state State, source Source) {
	if state == Working && s.m.State != Working {
		s.m.WorkingSince = s.now
	}
	if s.m.State != state {
		s.m.Since, s.m.Message = s.now, ""
	}
	if s.e.Message != "" {
		s.m.Message = s.e.Message
	}
	s.m.State, s.m.Source, s.m.Claimed, s.m.Covered = state, source, s.now, nil
	if s.m.Since.IsZero() {
		s.m.Since = s.now
	}
}

// goOn has the newest turn go on, opening it again if it had ended.
func (s *step) goOn() {
	s.become(Working, Report)
	s.m.Resting = false
	if s.m.TurnOpen {
		return
	}
	s.m.TurnOpen = true
	s.emit(TurnContinued{Turn: s.m.Turn})
}

func (s *step) start(label, promptID string) {
	s.m.OldPrompts = lastOf(slices.Concat(s.m.OldPrompts, s.m.PromptIDs))
	s.m.PromptIDs = nil
	s.m.Turn++
	s.m.TurnOpen, s.m.Resting = true, false
	s.m.TurnLabel, s.m.TurnStarted, s.m.WorkingSince = label, s.now, s.now
	s.remember(promptID)
	s.emit(TurnStarted{Turn: s.m.Turn, Label: label})
}

func (s *step) remember(promptID string) {
	if promptID == "" || slices.Contains(s.m.PromptIDs, promptID) {
		return
	}
	s.m.PromptIDs = lastOf(slices.Concat(s.m.PromptIDs, []string{promptID}))
}

// end ends the open turn, if there is one, and asks for its checkpoint.
func (s *step) end(state State) {
	if !s.m.TurnOpen {
		return
	}
	s.m.TurnOpen, s.m.Resting = false, false
	s.emit(TurnEnded{Turn: s.m.Turn, State: state})
	s.save(state, s.e.Message)
}

// cutShort ends the open turn because a new prompt came or the agent went: as
// aborted, unless the agent had come to rest and only its background tasks were
// left.
func (s *step) cutShort() {
	if s.m.Resting {
		s.end(Done)
		return
	}
	s.end(Aborted)
}

// save asks for a checkpoint, named by the turn's prompt, else by message.
func (s *step) save(state State, message string) {
	label := s.m.TurnLabel
	if label == "" {
		label = message
	}
	s.emit(SaveDue{Turn: s.m.Turn, State: state, Label: label})
}

func (s *step) emit(e Effect) { s.effects = append(s.effects, e) }

// rests reports whether an agent in this state has nothing more to do.
func rests(s State) bool { return s == Done || s == Idle }

func lastOf(ids []string) []string {
	return ids[max(0, len(ids)-promptMemory):]
}
