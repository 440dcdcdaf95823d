package conversation

import (
	"strings"
	"unicode/utf8"
)

const (
	frameOpen  = "<checkpoint-report>"
	frameClose = "</checkpoint-report>"
	// The words tie the report to this one checkpoint: a model that reads that it
	// is done neither rewinds again nor keeps away from the next checkpoint.
	frameHead = "This checkpoint is closed. What was explored after it has been replaced by this report; go on from here."
	saidHead  = "Already said to the user:"
)

// How much of what the model said inside a span is repeated, in characters.
const (
	MaxSaidEach = 1_000
	MaxSaidAll  = 4_000
)

// Frame is what takes the place of an exploration: a further part of the
// checkpoint's own result.
type Frame struct {
	Report string   // as the model gave it, trimmed
	Facts  string   // the second block of the rewind's result; may be empty
	Said   []string // the last text before each of the user's in the span and before the rewind, oldest first, uncut
}

// String words the frame. It holds the report once.
func (f Frame) String() string {
	parts := []string{frameOpen + "\n" + frameHead, f.Report}
	if f.Facts != "" {
		parts = append(parts, f.Facts)
	}
	if said := cutSaid(f.Said); len(said) > 0 {
		parts = append(parts, saidHead+"\n"+strings.Join(said, "\n\n"))
	}
	return strings.Join(parts, "\n\n") + "\n" + frameClose
}

// cutSaid keeps each text and all of them within their limits.
func cutSaid(said []string) []string {
	var kept []string
	left := MaxSaidAll
	for _, text := range said {
		text = cut(strings.TrimSpace(text), min(MaxSaidEach, left))
		if text == "" {
			continue
		}
		left -= utf8.RuneCountInString(text)
		kept = append(kept, text)
	}
	return kept
}

// cut keeps the first n characters.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// IsFramed says whether a text is a frame, so that what was collapsed once is
// left alone.
func IsFramed(text string) bool {
	return strings.HasPrefix(text, frameOpen+"\n"+frameHead) && strings.HasSuffix(text, frameClose)
}
