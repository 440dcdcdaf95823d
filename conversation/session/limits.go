package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxText is the longest text of a part that a session keeps, in characters.
// Whoever hands in a longer one finds it cut, with a notice at its end.
const MaxText = 500_000

// cutText keeps a text within the limit, the notice included.
func cutText(text string) string {
	if len(text) <= MaxText || utf8.RuneCountInString(text) <= MaxText {
		return text
	}
	all := utf8.RuneCountInString(text)
	// The notice is as long for any number with as many digits.
	keep := MaxText - len(cutNotice(all))
	return firstRunes(text, keep) + cutNotice(all-keep)
}

func cutNotice(characters int) string {
	return fmt.Sprintf("\n[cut: %d more characters]", characters)
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// cutArguments cuts the texts in a call's arguments, which stay JSON. Names of
// fields stay as they are. What is no JSON is a text.
func cutArguments(arguments string) string {
	if len(arguments) <= MaxText {
		return arguments
	}
	if !json.Valid([]byte(arguments)) {
		return cutText(arguments)
	}
	var out strings.Builder
	copied := 0
	for at := 0; at < len(arguments); {
		if arguments[at] != '"' {
			at++
			continue
		}
		end := at + stringLength(arguments[at:])
		if end-at > MaxText && !isFieldName(arguments[end:]) {
			if short, cut := cutLiteral(arguments[at:end]); cut {
				out.WriteString(arguments[copied:at])
				out.WriteString(short)
				copied = end
			}
		}
		at = end
	}
	out.WriteString(arguments[copied:])
	return out.String()
}

// stringLength is that of the string that valid JSON begins with, quotes included.
func stringLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func isFieldName(behind string) bool {
	return strings.HasPrefix(strings.TrimLeft(behind, " \t\r\n"), ":")
}

// cutLiteral cuts a string as JSON has it.
func cutLiteral(literal string) (short string, cut bool) {
	var text string
	if json.Unmarshal([]byte(literal), &text) != nil {
		return literal, false
	}
	kept := cutText(text)
	if kept == text {
		return literal, false
	}
	line, err := encode(kept)
	return string(bytes.TrimSuffix(line, []byte{'\n'})), err == nil
}
