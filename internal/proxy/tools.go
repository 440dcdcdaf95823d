package proxy

import (
	"bytes"
	"strings"

	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

// offersTools says whether a body offers the model a tool that the agent runs. A
// list of nothing but searches and the like, which the provider runs itself, is an
// agent's side question: Claude Code and Gemini CLI search the web by one. The rest
// of the body is not read; in a text that holds the same the quotes are escaped.
func offersTools(body []byte) bool {
	const name = `"tools"`
	for at := 0; ; {
		next := bytes.Index(body[at:], []byte(name))
		if next < 0 {
			return false
		}
		at += next + len(name)
		rest := bytes.TrimLeft(body[at:], " \t\r\n")
		if list, ok := bytes.CutPrefix(rest, []byte(":")); ok && listsOwnTool(list) {
			return true
		}
	}
}

// listsOwnTool looks into the list that a text begins with.
func listsOwnTool(text []byte) bool {
	s := jsonscan.New(text)
	if s.Kind() != '[' {
		return false
	}
	own := false
	s.Array(func() { own = own || !isProvidersTool(text, s) })
	return own && s.Err() == nil
}

// isProvidersTool reads one tool. One that is not known counts as the agent's.
func isProvidersTool(text []byte, s *jsonscan.Scanner) bool {
	if s.Kind() != '{' {
		return false
	}
	kind, named := "", true
	s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			kind, _ = jsonscan.Unquote(s.Skip().In(text))
		case "googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval",
			"urlContext", "url_context", "codeExecution", "code_execution":
		default:
			named = false
		}
	})
	if kind == "" {
		return named // Gemini's, which have no type
	}
	for _, begin := range []string{"web_search", "web_fetch", "code_execution", "code_interpreter", "file_search", "image_generation"} {
		if strings.HasPrefix(kind, begin) {
			return true
		}
	}
	return false
}
