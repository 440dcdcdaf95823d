// Package pi is the adapter for pi: what its tools do, and its session files.
//
// What it relies on was measured with version 1.6.0. Its extension of ours tells
// what happens; package plugin takes that in.
package pi

import "encoding/json"

// Name is the agent's name in reports and commands.
const Name = "pi"

// Adapter reads pi's sessions.
type Adapter struct{}

// Place is where in a session file a turn ended. It is kept with the checkpoint as
// the JSON of this type.
type Place struct {
	Path  string `json:"path"`  // of the session file, absolute
	Entry string `json:"entry"` // id of the last entry of the branch
}

// PlaceAt is the place of an entry as it is kept; empty where the session has no
// file, or nothing in it.
func PlaceAt(path, entry string) string {
	if path == "" || entry == "" {
		return ""
	}
	text, err := json.Marshal(Place{Path: path, Entry: entry})
	if err != nil {
		return ""
	}
	return string(text)
}

// Writes says whether a tool can change files. Tools that are not known can.
func Writes(tool string) bool {
	switch tool {
	case "read", "grep", "find", "ls":
		return false
	}
	return true
}
