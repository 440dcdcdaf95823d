// Package opencode is the adapter for OpenCode: what its tools do.
//
// What it relies on was measured with version 1.18.33. Its plugin of ours tells
// what happens; package plugin takes that in.
package opencode

import "github.com/turnback/turnback/internal/shell"

// Name is the agent's name in reports and commands.
const Name = "opencode"

// Fork is the command that goes on with a copy of a whole session.
func Fork(session string) string { return Name + " --session " + shell.Word(session) + " --fork" }

// Writes says whether a tool can change files. Tools that are not known, those of
// MCP servers among them, can. Starting a subagent changes nothing: its own calls
// are told one by one.
func Writes(tool string) bool {
	switch tool {
	case "read", "glob", "grep", "list", "lsp", "webfetch", "websearch", "codesearch",
		"task", "todoread", "todowrite", "question", "skill", "plan_enter", "plan_exit", "invalid":
		return false
	}
	return true
}
