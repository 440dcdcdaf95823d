package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/turnback/turnback/conversation/collapse"
	"github.com/turnback/turnback/internal/api"
)

// observer gathers what one request showed, and tells it.
type observer struct {
	tell     *teller
	caller   api.ConversationCaller
	at       time.Time
	generate bool
	main     bool // the history is the conversation's, and not a side question
	before   int
	after    int
	answer   *usageReader // nil: no answer that has usage
}

func (s *Server) newObserver(r *http.Request, to route) *observer {
	return &observer{tell: s.tell, caller: s.callerOf(r.Header), at: s.o.Now(), generate: to.generate}
}

// callerOf reads whose conversation a request belongs to from the headers in
// which agents say so.
func (s *Server) callerOf(h http.Header) api.ConversationCaller {
	c := api.ConversationCaller{Agent: s.o.Agent, Launch: s.o.Launch}
	thread, session := first(h, "Thread-Id", "Conversation_id"), first(h, "Session-Id", "Session_id")
	switch {
	case h.Get("X-Claude-Code-Session-Id") != "":
		c.Session = h.Get("X-Claude-Code-Session-Id")
		c.Subagent = h.Get("X-Claude-Code-Agent-Id") != ""
		c.Agent = orElse(c.Agent, "claude")
	case thread != "" || session != "":
		c.Session = orElse(thread, session)
		c.Subagent = h.Get("X-Openai-Subagent") != "" || codexSubagent(h.Get("X-Codex-Turn-Metadata"))
		if strings.HasPrefix(h.Get("Originator"), "codex") {
			c.Agent = orElse(c.Agent, "codex")
		}
	case strings.HasPrefix(h.Get("User-Agent"), "GeminiCLI"):
		c.Agent = orElse(c.Agent, "gemini")
	}
	return c
}

// codexSubagent reads what Codex tells of a request's agent.
func codexSubagent(metadata string) bool {
	var told struct {
		Agent  string `json:"agent_name"`
		Source string `json:"thread_source"`
	}
	return json.Unmarshal([]byte(metadata), &told) == nil && (told.Agent != "" && told.Agent != "/root" || told.Source == "subagent")
}

// first is the first header that is there. Some agents write theirs with an
// underscore, which Go keeps as it is.
func first(h http.Header, names ...string) string {
	for _, name := range names {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

// doubt tells that a body was not looked at.
func (o *observer) doubt(err error) {
	o.tell.seen(api.ConversationSeenParams{Caller: o.caller, At: o.at, Rewrites: true, Reason: err.Error(), Unknown: true})
}

// history tells what the body of a request showed. A request that offers the
// model no tools of the agent's is its side question (a title, a summary of a page,
// a search), and says nothing of the conversation.
func (o *observer) history(body []byte, result collapse.Result) {
	o.before, o.after = len(body), len(result.Body)
	o.main = o.generate && offersTools(body)
	if (!o.main || !result.Known) && result.Reason == "" {
		return
	}
	seen := api.ConversationSeenParams{
		Caller: o.caller, At: o.at, Checkpoints: result.Checkpoints, Completed: result.Completed,
		Spans: len(result.Spans), Rewrites: true, Reason: result.Reason, Unknown: !o.main || !result.Known,
	}
	if open := result.Open; open != nil {
		seen.Open = &api.ConversationOpenCall{CallID: open.ID, Goal: open.Goal, BatchEnded: open.BatchEnded}
	}
	o.tell.seen(seen)
}

// answered is the usage that an answer tells while it passes.
func (o *observer) answered(response *http.Response) {
	if o == nil || !o.main || response.StatusCode != http.StatusOK {
		return
	}
	c, err := codingOf(response.Header.Values("Content-Encoding"))
	if err != nil {
		return
	}
	o.answer = newUsageReader(response.Body, c, strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream"))
	response.Body = o.answer
}

// done tells the figures, after the answer.
func (o *observer) done() {
	if o == nil || o.answer == nil {
		return
	}
	o.tell.figures(api.ConversationFiguresParams{
		Caller: o.caller, At: o.at,
		BytesBefore: int64(o.before), BytesAfter: int64(o.after), Tokens: o.answer.tokens(),
	})
}

// observe is the forward's look at an answer.
func observe(response *http.Response) error {
	exchangeOf(response.Request).seen.answered(response)
	return nil
}
