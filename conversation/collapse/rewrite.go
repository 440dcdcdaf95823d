package collapse

import (
	"bytes"
	"slices"
	"sort"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// edit is a part of the body with what takes its place.
type edit struct {
	at   span
	text []byte
}

// rewriter notes edits, which do not overlap, and applies them together.
type rewriter struct {
	*history
	provider Provider
	edits    []edit
	carried  []string // of the span at hand: texts that stay behind its report
}

func (w *rewriter) edit(at span, text []byte) {
	w.edits = append(w.edits, edit{at, text})
}

// drop takes an item out of the list, with the comma before it. The first item
// of a list never goes.
func (w *rewriter) drop(i int) {
	w.edit(span{From: w.items[i-1].at.To, To: w.items[i].at.To}, nil)
}

// apply is the body with all edits.
func (w *rewriter) apply() []byte {
	if len(w.edits) == 0 {
		return w.body
	}
	sort.SliceStable(w.edits, func(a, b int) bool { return w.edits[a].at.From < w.edits[b].at.From })
	size := len(w.body)
	for _, e := range w.edits {
		size += len(e.text) - e.at.Len()
	}
	out := make([]byte, 0, size)
	at := int32(0)
	for _, e := range w.edits {
		out = append(append(out, w.body[at:e.at.From]...), e.text...)
		at = e.at.To
	}
	return append(out, w.body[at:]...)
}

// joined is a JSON list.
func joined(elements [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}

// kept is a user message that stays, with the blocks that come to its end.
type kept struct {
	item     int
	rest     [][]byte // what stays of its own when some of it goes; nil when all stays
	added    [][]byte
	lastMark bool // the last block has a cache mark
}

// messages notes the edits for a span of Anthropic messages. Roles alternate
// there, so what stays of user messages goes to the end of the user message
// before; system messages stand between, at most one in a row.
func (w *rewriter) messages(s stretch, heard *speech) bool {
	m := merger{rewriter: w, heard: heard, system: -1}
	boundary := int(s.opened.end)
	parts := w.partsOf(boundary)
	m.into = kept{item: boundary, lastMark: parts[len(parts)-1].mark.Len() > 0}
	ok := true
	for i := s.from; i <= s.to && ok; i++ {
		switch it := w.items[i]; {
		case it.model:
			m.assistant(i)
		case it.system:
			ok = m.systemMessage(i)
		default:
			ok = m.user(i)
		}
	}
	// A system message right behind the span would be the second in a row.
	for i := s.to + 1; ok && m.system >= 0 && i < len(w.items) && w.items[i].system; i++ {
		ok = !w.items[i].unknown && m.systemMessage(i)
	}
	m.flush(m.mark)
	m.flushSystem()
	return ok
}

// merger is the state of going through a span of Anthropic messages.
type merger struct {
	*rewriter
	heard  *speech
	into   kept
	mark   span // cache mark of a block that went
	system int  // the system message that others are merged into; -1 when there is none
	merged []int
}

// assistant drops a message, but for calls that loaded a tool and their
// reasoning.
func (m *merger) assistant(i int) {
	parts := m.partsOf(i)
	m.heard.model(parts)
	if !slices.ContainsFunc(parts, func(p part) bool { return p.kind == call && p.loads }) {
		m.dropMarks(parts)
		m.drop(i)
		return
	}
	m.flushSystem()
	var rest [][]byte
	for _, p := range parts {
		if p.kind == reasoning || p.kind == call && p.loads {
			rest = append(rest, p.at.In(m.body))
		} else {
			m.dropMarks([]part{p})
		}
	}
	if len(rest) < len(parts) {
		m.edit(m.items[i].content, joined(rest))
	}
}

// user moves what stays of a message to the end of the last one that stays.
func (m *merger) user(i int) bool {
	it, parts := m.items[i], m.partsOf(i)
	loads := slices.ContainsFunc(parts, func(p part) bool { return p.kind == result && p.loads })
	if loads {
		m.flush(span{})
		m.into = kept{item: i, rest: [][]byte{}}
	}
	took := false
	for _, p := range parts {
		block := p.at.In(m.body)
		switch stays := m.stays(it, p, m.heard); {
		case !stays:
			m.dropMarks([]part{p})
			continue
		case p.kind == text && p.value.Len() <= len(`""`): // no provider takes an empty text
			continue
		case it.bareText:
			block = textBlock(block)
		}
		took, m.into.lastMark = true, p.mark.Len() > 0
		if loads && p.kind == result {
			m.into.rest = append(m.into.rest, block)
		} else {
			m.into.added = append(m.into.added, block)
		}
	}
	if !loads {
		m.drop(i)
	}
	return loads || !took || !it.extra
}

func (m *merger) dropMarks(parts []part) {
	for _, p := range parts {
		if p.mark.Len() > 0 {
			m.mark = p.mark
		}
	}
}

// flush writes the user message that blocks were moved to; with a cache mark on
// its last block when one is given and none is there.
func (m *merger) flush(mark span) {
	to := m.into
	blocks := slices.Concat(to.rest, to.added)
	if mark.Len() > 0 && !to.lastMark {
		member := append([]byte(`,"cache_control":`), mark.In(m.body)...)
		if n := len(blocks); n > 0 {
			last := blocks[n-1]
			blocks[n-1] = slices.Concat(last[:len(last)-1], member, []byte("}"))
		} else {
			parts := m.partsOf(to.item)
			end := parts[len(parts)-1].at.To - 1
			m.edit(span{From: end, To: end}, member)
		}
	}
	content := m.items[to.item].content
	switch {
	case to.rest != nil:
		m.edit(content, joined(blocks))
	case len(blocks) > 0:
		end := content.To - 1
		m.edit(span{From: end, To: end}, append([]byte(","), bytes.Join(blocks, []byte(","))...))
	}
}

// systemMessage keeps a message, or merges it into the one right before; the
// guard's own goes.
func (m *merger) systemMessage(i int) bool {
	parts := m.partsOf(i)
	guards := func(p part) bool { return p.kind == text && conversation.IsReminder(m.str(p.value)) }
	switch {
	case len(parts) == 1 && guards(parts[0]):
		m.drop(i)
	case m.system < 0:
		m.system = i
	default:
		m.merged = append(m.merged, i)
		m.drop(i)
	}
	return true
}

// flushSystem writes the system message that others were merged into: the blocks
// of all; of other members those that came last.
func (m *merger) flushSystem() {
	first, rest := m.system, m.merged
	m.system, m.merged = -1, nil
	if len(rest) == 0 {
		return
	}
	var blocks [][]byte
	var names []string
	members := map[string][]byte{}
	for _, i := range append([]int{first}, rest...) {
		for _, p := range m.partsOf(i) {
			block := p.at.In(m.body)
			if m.items[i].bareText {
				block = textBlock(block)
			}
			blocks = append(blocks, block)
		}
		s := jsonscan.Within(m.body, m.items[i].at)
		s.Object(func(key []byte) {
			name := string(key)
			if name == "role" || name == "content" {
				return
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			members[name] = s.Skip().In(m.body)
		})
	}
	message := append([]byte(`{"role":"system","content":`), joined(blocks)...)
	for _, name := range names {
		message = slices.Concat(message, []byte(","), jsonscan.Quote(name), []byte(":"), members[name])
	}
	m.edit(m.items[first].at, append(message, '}'))
}
