package collapse

import (
	"bytes"
	"strings"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// output is what a tool gave, unwrapped as agents wrap it.
type output struct {
	texts  []string
	detail string // "goal,startedAt" or "report,rewound": the keys of details that stand in place of the text
	framed bool
}

func (o output) isCheckpoint() bool {
	return o.starts(conversation.CreatedPrefix) || o.detail == "goal,startedAt"
}

func (o output) isRewind() bool {
	return o.starts(conversation.RewindPrefix) || o.detail == "report,rewound"
}

func (o output) starts(prefix string) bool {
	return len(o.texts) > 0 && strings.HasPrefix(o.texts[0], prefix)
}

// facts is what a rewind's result has beside its two lines.
func (o output) facts() string {
	if len(o.texts) == 0 || o.detail != "" {
		return ""
	}
	first := strings.TrimPrefix(o.texts[0], conversation.RewindText())
	var kept []string
	for _, said := range append([]string{first}, o.texts[1:]...) {
		// It would not be true: the exploration goes.
		said = strings.TrimSpace(strings.ReplaceAll(said, conversation.NoProxyNote, ""))
		if said != "" {
			kept = append(kept, said)
		}
	}
	return strings.Join(kept, "\n\n")
}

// readOutput unwraps a result: a string, a list of blocks, or an object that has
// one of them (Gemini).
func readOutput(value []byte) output {
	var o output
	o.read(value, 0)
	return o
}

// maxWraps is how many strings with JSON in them may lie in one another.
const maxWraps = 3

func (o *output) read(value []byte, wraps int) {
	s := jsonscan.New(value)
	switch s.Kind() {
	case '"':
		said, _ := jsonscan.Unquote(s.Skip().In(value))
		o.readText(said, wraps)
	case '[':
		s.Array(func() {
			if s.Kind() == '{' {
				o.readBlock(value, s, wraps)
			}
		})
	case '{':
		o.readObject(value, wraps)
	}
}

// readBlock reads one block of a list; those that are no text are left out.
func (o *output) readBlock(value []byte, s *jsonscan.Scanner, wraps int) {
	said, isText := "", false
	s.Object(func(key []byte) {
		if string(key) == "text" && s.Kind() == '"' {
			said, isText = jsonscan.Unquote(s.Skip().In(value))
		}
	})
	if isText {
		o.readText(said, wraps)
	}
}

func (o *output) readObject(value []byte, wraps int) {
	var keys []string
	inner := span{}
	s := jsonscan.New(value)
	s.Object(func(key []byte) {
		keys = append(keys, string(key))
		switch string(key) {
		case "output", "result", "content":
			inner = s.Skip()
		}
	})
	switch {
	case s.End() != nil:
	case len(keys) == 2 && isDetail(keys):
		o.detail = keys[0] + "," + keys[1]
	case inner.Len() > 0 && wraps < maxWraps:
		o.read(inner.In(value), wraps+1)
	}
}

// isDetail says whether these are the keys of the details of one of our tools.
func isDetail(keys []string) bool {
	if keys[0] > keys[1] {
		keys[0], keys[1] = keys[1], keys[0]
	}
	return keys[0] == "goal" && keys[1] == "startedAt" || keys[0] == "report" && keys[1] == "rewound"
}

const (
	untrustedOpen  = "<untrusted_context>\n"
	untrustedClose = "\n</untrusted_context>"
)

// readText reads a string that may wrap what a tool gave.
func (o *output) readText(said string, wraps int) {
	said = withoutDetails(withoutHeader(withoutInstructions(said)))
	if at := frameIn(said); at >= 0 {
		o.framed, said = true, said[:at]
	}
	if strings.HasPrefix(said, untrustedOpen) {
		for _, wrapped := range strings.Split(said, untrustedOpen)[1:] {
			o.readText(strings.TrimSuffix(strings.TrimSuffix(wrapped, "\n"), untrustedClose), wraps)
		}
		return
	}
	if isJSON := strings.HasPrefix(said, "[{") || strings.HasPrefix(said, "{"); isJSON && wraps < maxWraps {
		inner := output{}
		if inner.read([]byte(said), wraps+1); len(inner.texts) > 0 || inner.detail != "" {
			o.texts, o.framed = append(o.texts, inner.texts...), o.framed || inner.framed
			if o.detail == "" {
				o.detail = inner.detail
			}
			return
		}
	}
	o.add(said)
}

// add takes one unwrapped text.
func (o *output) add(said string) {
	said = withoutHeader(said)
	if conversation.IsFramed(said) {
		o.framed = true
		return
	}
	if at := frameIn(said); at >= 0 {
		o.framed, said = true, said[:at]
	}
	if said != "" {
		o.texts = append(o.texts, said)
	}
}

// frameIn is where the line begins at which a text goes on with a framed report;
// -1 when it does not.
func frameIn(said string) int {
	for at := 0; ; {
		next := strings.Index(said[at:], "\n<")
		if next < 0 {
			return -1
		}
		at += next + 1
		if conversation.IsFramed(said[at:]) {
			return at - 1
		}
	}
}

// withoutHeader takes off the line of time that Codex puts before a result.
func withoutHeader(said string) string {
	rest, ok := strings.CutPrefix(said, "Wall time: ")
	if !ok {
		return said
	}
	first, rest, _ := strings.Cut(rest, "\n")
	if !strings.HasSuffix(first, " seconds") {
		return said
	}
	if rest == "Output:" {
		return ""
	}
	if rest, ok := strings.CutPrefix(rest, "Output:\n"); ok {
		return rest
	}
	return said
}

// withoutDetails takes off the details of one of our tools that Copilot puts
// behind its text.
func withoutDetails(said string) string {
	at := strings.LastIndex(said, "\n\n{")
	if at < 0 {
		return said
	}
	var behind output
	if behind.readObject([]byte(said[at:]), maxWraps); behind.detail == "" {
		return said
	}
	return said[:at]
}

// argument reads a string out of a call's arguments: an object, or a string that
// has one. Ok is false when there is none, or more than one.
func argument(arguments []byte, name string) (value string, ok bool) {
	if unquoted, isString := jsonscan.Unquote(bytes.TrimSpace(arguments)); isString {
		arguments = []byte(unquoted)
	}
	found := 0
	s := jsonscan.New(arguments)
	s.Object(func(key []byte) {
		if string(key) == name {
			found++
			value, ok = jsonscan.Unquote(s.Skip().In(arguments))
		}
	})
	return value, ok && found == 1 && s.End() == nil
}
